//! Derived columns that someone changed with other tools.

use std::ops::ControlFlow;
use std::path::Path;

use message_store::sqlite::{
    BlockingSqliteStore, ColumnCheck, Config, check_columns, rebuild_columns,
};
use message_store::{CategoryRead, Error, ExpectedVersion, GlobalPosition, Message};
use rusqlite::Connection;
use serde_json::json;

use crate::support::sqlite::{messages, open, stream_name};

const MESSAGES: u64 = 20;

/// A closed store with messages of `account`, each with a correlation and large metadata.
fn fill(path: &Path) {
    let store = open(path);
    for number in 0..MESSAGES {
        let metadata = json!({"correlationStreamName": "transfer-7", "text": "x".repeat(3000)});
        let message = Message::builder("Happened")
            .metadata(&metadata)
            .build()
            .unwrap();
        let stream = stream_name(&format!("account-{number}"));
        store
            .write_message(&stream, message, ExpectedVersion::Any)
            .unwrap();
    }
    store.close();
}

fn tamper(path: &Path, sql: &str) {
    Connection::open(path)
        .unwrap()
        .execute_batch(sql)
        .expect(sql);
}

fn check(path: &Path) -> ColumnCheck {
    check_columns(&Config::file(path), |_| ControlFlow::Continue(())).unwrap()
}

fn assert_refused(path: &Path, first: u64) {
    let opened = BlockingSqliteStore::open(Config::file(path));
    let Err(refused @ Error::ColumnsDiffer { .. }) = opened else {
        panic!("{opened:?}");
    };
    assert!(!refused.is_transient());
    let text = refused.to_string();
    assert!(text.contains(&format!("message {first} ")), "{text}");
    assert!(
        text.contains("message_store::sqlite::rebuild_columns"),
        "{text}"
    );
}

fn assert_mended(path: &Path) {
    let found = check(path);
    assert_eq!((found.wrong, found.first_wrong), (0, None));
    assert_eq!((found.messages, found.total_messages), (MESSAGES, MESSAGES));
    let store = open(path);
    let category = |name: &str| message_store::Category::new(name).unwrap();
    let all = CategoryRead::new().batch_size(None);
    let correlated = all.clone().correlation(category("transfer"));
    for read in [all, correlated] {
        let found = store
            .get_category_messages(&category("account"), &read)
            .unwrap();
        assert_eq!(found.len() as u64, MESSAGES);
    }
    store.health().unwrap();
    store.close();
}

/// Reads of the category would return nothing.
#[test]
fn wrong_columns_are_refused_until_they_are_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    fill(&path);
    for (change, first, wrong) in [
        ("UPDATE messages SET category = ''", 1, MESSAGES),
        ("UPDATE messages SET correlation = NULL", 1, MESSAGES),
        (
            "UPDATE messages SET category = 'b' WHERE global_position = 1",
            1,
            1,
        ),
        (
            "UPDATE messages SET correlation = 'b' \
             WHERE global_position = (SELECT max(global_position) FROM messages)",
            MESSAGES,
            1,
        ),
    ] {
        tamper(&path, change);
        assert_refused(&path, first);
        let found = check(&path);
        assert_eq!(found.wrong, wrong, "{change}");
        assert_eq!(found.first_wrong, Some(GlobalPosition::new(first)));
        assert_eq!(rebuild_columns(&Config::file(&path)).unwrap(), wrong);
        assert_mended(&path);
    }
}

/// Opening the store looks at its ends alone.
#[test]
fn wrong_column_in_the_middle_is_found_by_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    fill(&path);
    tamper(
        &path,
        "UPDATE messages SET category = 'b' WHERE global_position IN (7, 9)",
    );
    open(&path).close();
    let found = check(&path);
    assert_eq!(
        (found.wrong, found.first_wrong),
        (2, Some(GlobalPosition::new(7)))
    );
    assert_eq!(rebuild_columns(&Config::file(&path)).unwrap(), 2);
    assert_mended(&path);
}

#[test]
fn health_notices_wrong_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    fill(&path);
    let store = open(&path);
    store.health().unwrap();
    tamper(&path, "UPDATE messages SET category = 'b'");
    let health = store.health();
    assert!(
        matches!(health, Err(Error::ColumnsDiffer { .. })),
        "{health:?}"
    );
    // Beside an open store.
    rebuild_columns(&Config::file(&path)).unwrap();
    store.health().unwrap();
    store.close();
}

#[test]
fn check_reports_progress_and_ends_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let store = open(&path);
    for _ in 0..3 {
        let batch = messages(7_000);
        store
            .write_batch(&stream_name("a-1"), batch, ExpectedVersion::Any)
            .unwrap();
    }
    store.close();
    let config = Config::file(&path);
    let mut seen = Vec::new();
    let whole = check_columns(&config, |so_far| {
        seen.push(so_far.messages);
        ControlFlow::Continue(())
    });
    assert_eq!(whole.unwrap().messages, 21_000);
    assert_eq!(seen, [10_000, 20_000, 21_000]);
    let part = check_columns(&config, |_| ControlFlow::Break(())).unwrap();
    assert_eq!((part.messages, part.total_messages), (10_000, 21_000));
}
