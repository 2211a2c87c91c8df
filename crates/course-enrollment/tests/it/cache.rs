//! The cache returns the recorded content, even if a file was damaged or changed.

use std::fs;

use course_enrollment::{Dataset, DatasetCache, Error};
use tempfile::{TempDir, tempdir};

fn cache() -> (TempDir, DatasetCache) {
    let folder = tempdir().expect("the system has a temporary folder");
    let cache = DatasetCache::in_folder(folder.path().join("registrar"));
    (folder, cache)
}

fn execute(cache: &DatasetCache, dataset: Dataset, sql: &str) {
    let connection = rusqlite::Connection::open(cache.file(dataset)).expect("the file exists");
    connection
        .execute_batch(sql)
        .expect("the statement is valid");
}

#[test]
fn dataset_is_stored_and_read_again() -> Result<(), Error> {
    let (_folder, cache) = cache();
    let made = cache.get(Dataset::Small)?;
    assert_eq!(made, Dataset::Small.generate());
    let written = fs::metadata(cache.file(Dataset::Small))
        .and_then(|file| file.modified())
        .ok();
    assert!(written.is_some());
    assert_eq!(cache.get(Dataset::Small)?, made);
    let now = fs::metadata(cache.file(Dataset::Small))
        .and_then(|file| file.modified())
        .ok();
    assert_eq!(now, written, "the second call only reads");
    Ok(())
}

#[test]
fn row_has_the_documented_id_and_configuration() -> Result<(), Error> {
    let (_folder, cache) = cache();
    cache.get(Dataset::Tiny)?;
    let connection = rusqlite::Connection::open(cache.file(Dataset::Tiny)).expect("it was written");
    let row = connection.query_row(
        "SELECT id, config ->> 'seed', json_array_length(enrollments) FROM datasets",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    );
    assert_eq!(row, Ok(("5_10_20_50".to_owned(), Dataset::SEED as i64, 18)));
    Ok(())
}

#[test]
fn file_that_is_no_database_is_replaced() -> Result<(), Error> {
    let (_folder, cache) = cache();
    cache.get(Dataset::Tiny)?;
    fs::write(cache.file(Dataset::Tiny), "no database at all").expect("the file can be written");
    assert_eq!(cache.get(Dataset::Tiny)?, Dataset::Tiny.generate());
    assert!(fs::read(cache.file(Dataset::Tiny)).is_ok_and(|file| file.starts_with(b"SQLite")));
    Ok(())
}

#[test]
fn truncated_file_is_replaced() -> Result<(), Error> {
    let (_folder, cache) = cache();
    cache.get(Dataset::Small)?;
    let file = fs::OpenOptions::new()
        .write(true)
        .open(cache.file(Dataset::Small));
    file.and_then(|file| file.set_len(100_000))
        .expect("the file can be shortened");
    assert_eq!(cache.get(Dataset::Small)?, Dataset::Small.generate());
    Ok(())
}

#[test]
fn changed_content_is_replaced() -> Result<(), Error> {
    let (_folder, cache) = cache();
    for change in [
        "UPDATE datasets SET courses = replace(courses, '\"capacity\":50', '\"capacity\":51')",
        "UPDATE datasets SET students = '[]'",
        "UPDATE datasets SET enrollments = 'no JSON'",
        "UPDATE datasets SET students = replace(students, '\"Physics\"', '\"\\u0000\"')",
        "DELETE FROM datasets",
        "DROP TABLE datasets",
    ] {
        cache.get(Dataset::Tiny)?;
        execute(&cache, Dataset::Tiny, change);
        assert_eq!(
            cache.get(Dataset::Tiny)?,
            Dataset::Tiny.generate(),
            "{change}"
        );
    }
    Ok(())
}

#[test]
fn concurrent_callers_get_the_dataset_and_leave_one_file() -> Result<(), Error> {
    let (_folder, cache) = cache();
    let expected = Dataset::Tiny.generate();
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| cache.get(Dataset::Tiny)))
            .collect();
        for caller in callers {
            let content = caller.join().expect("no caller panics");
            assert!(content.is_ok_and(|content| content == expected));
        }
    });
    let folder = cache.file(Dataset::Tiny).parent().map(fs::read_dir);
    let files = folder.and_then(Result::ok).map(Iterator::count);
    assert_eq!(files, Some(1), "no unfinished file is left behind");
    Ok(())
}

#[test]
fn folder_that_cannot_be_created_is_named_in_the_error() {
    let folder = tempdir().expect("the system has a temporary folder");
    let taken = folder.path().join("taken");
    fs::write(&taken, "a file").expect("the folder is new");
    let refused = DatasetCache::in_folder(taken.join("inside")).get(Dataset::Tiny);
    assert!(matches!(refused, Err(Error::Cache { path, .. }) if path.starts_with(&taken)));
}
