use std::sync::Barrier;

use conformance_suite::effort;
use message_store::sqlite::{BlockingSqliteStore, Config};
use message_store::{Error, Fault};
use rusqlite::Connection;

use crate::support::sqlite::open;

fn refused(path: &std::path::Path) -> Error {
    match BlockingSqliteStore::open(Config::file(path)) {
        Ok(_) => panic!("the file was opened"),
        Err(error) => error,
    }
}

#[test]
fn changed_schema_objects_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    open(&path).close();
    let other = Connection::open(&path).unwrap();
    let change = "DROP INDEX messages_category; DROP INDEX messages_id; \
                  CREATE INDEX messages_id ON messages (id);";
    other.execute_batch(change).unwrap();
    match refused(&path) {
        Error::Fault(Fault::SchemaChanged { differences, .. }) => {
            assert_eq!(
                differences,
                ["messages_id differs", "messages_category is missing"]
            );
        }
        error => panic!("{error}"),
    }
}

#[test]
fn newer_schema_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    open(&path).close();
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(
        refused(&path),
        Error::Fault(Fault::SchemaTooNew {
            found: 99,
            supported: 2,
            ..
        })
    ));
}

/// A process that opens the file while another installs the schema sees no schema or all of it.
#[test]
fn concurrent_opens_of_new_file_all_succeed() {
    const OPENERS: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    for round in 0..effort(40) {
        let path = folder.path().join(format!("{round}.sqlite"));
        let together = Barrier::new(OPENERS);
        let opener = || {
            together.wait();
            open(&path).close();
        };
        std::thread::scope(|scope| (0..OPENERS).for_each(|_| drop(scope.spawn(opener))));
    }
}

#[test]
fn file_of_other_application_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.sqlite");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE messages (a)").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(
        refused(&path),
        Error::Fault(Fault::SchemaChanged { .. })
    ));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let text = folder.path().join("text");
    std::fs::write(
        &text,
        "no database at all, but long enough to have a header. ".repeat(20),
    )
    .unwrap();
    let refused = refused(&text);
    assert!(matches!(refused, Error::Fault(Fault::NotADatabase(_))));
    assert!(!refused.is_transient(), "a retry can never succeed");
}

#[test]
fn missing_folder_is_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none").join("messages.sqlite");
    let refused = refused(&path);
    assert!(matches!(refused, Error::Fault(Fault::Unreachable(_))));
    assert!(refused.is_transient(), "a retry may succeed");
}
