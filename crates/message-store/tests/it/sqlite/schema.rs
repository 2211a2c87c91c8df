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
}
