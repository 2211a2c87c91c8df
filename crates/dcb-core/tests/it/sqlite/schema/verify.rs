//! Opening a file whose schema or rows were changed.

use dcb_core::sqlite::SqliteStore;
use dcb_core::{Error, EventStore as _, Fault};

use crate::support::events::tagged;
use crate::support::sqlite::files::foreign;
use crate::support::sqlite::{Log, connect, fresh_log};

async fn installed() -> Log {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    store.close().await;
    log
}

async fn refusal(log: &Log) -> Error {
    SqliteStore::open((**log).clone()).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn open_names_each_schema_difference() {
    let changes = [
        ("DROP INDEX dcb_event_id", "index dcb_event_id is missing"),
        ("DROP TABLE dcb_tracking", "table dcb_tracking is missing"),
        (
            "ALTER TABLE dcb_event ADD COLUMN more TEXT",
            "table dcb_event differs from what was installed",
        ),
    ];
    for (change, expected) in changes {
        let log = installed().await;
        foreign(&log).execute_batch(change).unwrap();
        let refused = refusal(&log).await;
        assert!(
            matches!(
                &refused,
                Error::Fault(Fault::SchemaChanged { schema, differences })
                    if *schema == log.path().display().to_string() && *differences == [expected]
            ),
            "{refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_schema_version_is_refused() {
    let log = installed().await;
    let newer = "INSERT INTO dcb_migration (version) VALUES (99)";
    foreign(&log).execute_batch(newer).unwrap();
    let refused = refusal(&log).await;
    assert!(
        matches!(
            refused,
            Error::Fault(Fault::SchemaTooNew {
                found: 99,
                supported: 2,
                ..
            })
        ),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn added_objects_are_no_difference() {
    let log = installed().await;
    foreign(&log)
        .execute_batch(
            "CREATE TABLE mine (number INTEGER); CREATE INDEX mine_too ON dcb_event (type)",
        )
        .unwrap();
    let store = connect(&log).await;
    assert_eq!(store.append(tagged("a")).await.unwrap().first().get(), 2);
    store.close().await;
}

/// A read of a row that was changed by hand returns an error. It does not panic or return an event.
#[tokio::test(flavor = "multi_thread")]
async fn malformed_stored_event_is_an_error() {
    for change in [
        "tags = 'none'",
        "id = x'00'",
        "metadata = '[1]'",
        "tags = '[1\\'",
    ] {
        let log = installed().await;
        foreign(&log)
            .execute_batch(&format!("UPDATE dcb_event SET {change}"))
            .unwrap();
        let store = connect(&log).await;
        let read = store
            .query(&dcb_core::Query::all(), Default::default())
            .await;
        assert!(
            matches!(&read, Err(Error::Fault(Fault::Refused(reason))) if reason.message().ends_with("of a stored row is malformed")),
            "{change}: {read:?}"
        );
        store.close().await;
    }
}
