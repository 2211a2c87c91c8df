//! A database that is put back from a backup, or a replica that was behind and takes over. Positions
//! that readers keep lead to other messages, or to none.

use std::time::Duration;

use local_postgres::Database;
use message_store::postgres::{Config, PostgresStore};
use message_store::{
    Bookmark, Category, CategoryRead, Error, GlobalPosition, MessageStore as _, SubscribeOptions,
};
use tokio::time::timeout;
use uuid::Uuid;

use crate::support::place::{
    ACCOUNT, KEPT, LOST, assert_ended, assert_goes_on, assert_refused, followers, running,
    write_numbers,
};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_store, server, whole_stream, write};

/// The messages of the restored store after the kept ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Past {
    /// Fewer messages than were lost.
    Shorter,
    /// Other messages at the lost positions, and further ones.
    Replaced,
    /// No messages at the lost positions: a server that takes over leaves some positions out.
    LeftOut,
}

impl Past {
    /// Writes messages from number 100 on.
    async fn write(self, store: &PostgresStore, database: &Database) {
        if self == Self::LeftOut {
            let mut sql = Sql::connect(database.url()).await;
            sql.run("SELECT setval('message_store.messages_global_position_seq', 38)")
                .await;
        }
        let count = match self {
            Self::Shorter => LOST - 1,
            Self::Replaced | Self::LeftOut => LOST + 1,
        };
        write_numbers(store, 100..100 + count).await;
    }

    fn is_told(self, error: &Error) -> bool {
        match error {
            Error::PastReplaced { position } => {
                self != Self::Shorter && position.get() == KEPT + LOST
            }
            Error::AfterBeyondHead {
                after,
                head: Some(head),
            } => {
                self == Self::Shorter && after.get() == KEPT + LOST && head.get() == KEPT + LOST - 1
            }
            _ => false,
        }
    }
}

async fn back_up(database: &Database) {
    let mut admin = Sql::connect(server().await.url()).await;
    let name = database.name();
    admin
        .run(&format!("CREATE DATABASE {name}_backup TEMPLATE {name}"))
        .await;
}

async fn put_back(database: &Database) {
    let mut admin = Sql::connect(server().await.url()).await;
    let name = database.name();
    for statement in [
        format!("DROP DATABASE {name} WITH (FORCE)"),
        format!("ALTER DATABASE {name}_backup RENAME TO {name}"),
    ] {
        admin.run(&statement).await;
    }
}

/// The service runs through the restore, and another process writes first.
#[tokio::test(flavor = "multi_thread")]
async fn every_place_notices_a_database_put_back_from_a_backup() {
    for past in [Past::Shorter, Past::Replaced, Past::LeftOut] {
        let (database, store) = fresh_store().await;
        write_numbers(&store, 0..KEPT).await;
        store.close().await;
        back_up(&database).await;
        let store = connect(Config::new(database.url())).await;
        write_numbers(&store, KEPT..KEPT + LOST).await;
        let mut followers = followers(&store).await;
        let running = running(&store).await;
        let last = whole_stream(&store, ACCOUNT).await.pop().unwrap();
        put_back(&database).await;

        let other = connect(Config::new(database.url())).await;
        past.write(&other, &database).await;
        assert_ended(&mut followers, |error| past.is_told(error)).await;
        for runner in running {
            let end = timeout(Duration::from_secs(60), runner).await;
            let end = end.expect("the runner waits, and then ends").unwrap();
            // It may have looked before the other process wrote.
            let ends = matches!(
                end,
                Error::AfterBeyondHead { .. } | Error::PastReplaced { .. }
            );
            assert!(ends, "{end:?}");
        }
        assert_refused(&other, &last, |error| past.is_told(error)).await;
        assert_goes_on(&other, 100).await;
        for store in [store, other] {
            store.close().await;
        }
    }
}

/// A deletion on purpose is no other past, even of the newest message, and with SQL.
#[tokio::test]
async fn deleted_message_counts_as_there() {
    let (database, store) = fresh_store().await;
    let mut sql = Sql::connect(database.url()).await;
    write_numbers(&store, 0..5).await;
    write(&store, "other-1", 5).await;
    let last = store.head().await.unwrap().unwrap();
    let (all, options) = (Category::all(), SubscribeOptions::new);
    let mut follower = store.subscribe_to_category(all.clone(), last, options());
    sql.run("DELETE FROM message_store.messages WHERE stream_name = 'other-1'")
        .await;
    let beyond = Bookmark::from(GlobalPosition::new(6));
    for start in [last, beyond] {
        let mut again = store.subscribe_to_category(all.clone(), start, options());
        assert!(again.try_next().await.unwrap().is_none());
        assert_eq!(again.lag().await.unwrap(), 0);
    }
    write_numbers(&store, 5..6).await;
    assert_eq!(follower.next().await.unwrap().global_position().get(), 7);
    store.close().await;
}

/// Writers leave a position out when they roll back. A reader was never there.
#[tokio::test]
async fn position_that_was_left_out_is_no_place() {
    let (database, store) = fresh_store().await;
    write_numbers(&store, 0..1).await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run("BEGIN").await;
    sql.write(ACCOUNT).await;
    sql.run("ROLLBACK").await;
    write_numbers(&store, 1..2).await;
    let start = Bookmark::from(GlobalPosition::new(2));
    let all = Category::all();
    let mut follower = store.subscribe_to_category(all, start, SubscribeOptions::new());
    assert_eq!(follower.next().await.unwrap().global_position().get(), 3);
    // A deletion before the position does not explain why the message is missing.
    sql.run("DELETE FROM message_store.messages WHERE global_position = 1")
        .await;
    let lost = Bookmark::new(start.position, Uuid::from_u128(1));
    let read = CategoryRead::new().start(lost);
    let refused = store.get_category_messages(&Category::all(), read).await;
    assert!(
        matches!(refused, Err(Error::PastReplaced { .. })),
        "{refused:?}"
    );
    store.close().await;
}

/// A schema of version 2 has checkpoints without ids.
#[tokio::test]
async fn checkpoint_of_version_2_gets_an_id_when_it_advances() {
    let (database, store) = fresh_store().await;
    store.close().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(crate::support::postgres::TO_VERSION_2).await;
    sql.run("INSERT INTO message_store.checkpoint VALUES ('mailer', 7), ('other', 9)")
        .await;
    let store = connect(Config::new(database.url())).await;
    let at = |position| Bookmark::from(GlobalPosition::new(position));
    assert_eq!(store.checkpoint("mailer").await.unwrap(), Some(at(7)));
    let next = Bookmark::new(GlobalPosition::new(8), Uuid::from_u128(1));
    store.save_checkpoint("mailer", next).await.unwrap();
    let saved = store.checkpoint("mailer").await.unwrap();
    assert_eq!(saved, Some(next));
    // A process of version 2 leaves the bookmark of the position before.
    sql.run("UPDATE message_store.checkpoint SET position = 9 WHERE consumer = 'mailer'")
        .await;
    for consumer in ["mailer", "other"] {
        assert_eq!(store.checkpoint(consumer).await.unwrap(), Some(at(9)));
    }
    store.close().await;
}

/// The check of a place costs no further read.
#[tokio::test]
async fn checked_page_is_one_read() {
    let (_database, store) = fresh_store().await;
    write_numbers(&store, 0..KEPT + LOST).await;
    let mut followers = followers(&store).await;
    let before = store.stats().reads;
    for follower in &mut followers {
        assert!(follower.try_next().await.unwrap().is_none());
    }
    assert_eq!(store.stats().reads - before, followers.len() as u64);
    store.close().await;
}
