//! Logs that were restored from a backup and have grown past their old end, and what callers kept of
//! the lost events.

mod decisions;
mod kept;
mod places;
mod postgres;
mod sqlite;

use dcb_core::postgres::PostgresStore;
use dcb_core::sqlite::SqliteStore;
use dcb_core::{
    AnyStore, Bookmark, Error, Event, EventStore as _, Events, MemoryStore, ReadOptions,
    SequencedEvent,
};

use crate::support::backend::SharedStore;
use crate::support::events::{at, tag, tagged, whole_log};

/// The positions of the events in the backup, and of those that were lost.
const KEPT: u64 = 6;
const LOST: u64 = 10;

/// A log, and two processes that have it open.
struct Log {
    store: AnyStore,
    other: AnyStore,
    // The file of an SQLite log is removed with it.
    _log: Option<crate::support::sqlite::Log>,
}

impl Log {
    async fn memory() -> Self {
        let store = AnyStore::Memory(MemoryStore::new());
        Self {
            other: store.clone(),
            store,
            _log: None,
        }
    }

    async fn sqlite() -> Self {
        let log = SqliteStore::fresh_log().await;
        Self {
            store: AnyStore::Sqlite(SqliteStore::connect(&log).await),
            other: AnyStore::Sqlite(SqliteStore::connect(&log).await),
            _log: Some(log),
        }
    }

    async fn postgres() -> Self {
        let log = <PostgresStore as SharedStore>::fresh_log().await;
        Self {
            store: AnyStore::Postgres(<PostgresStore as SharedStore>::connect(&log).await),
            other: AnyStore::Postgres(<PostgresStore as SharedStore>::connect(&log).await),
            _log: None,
        }
    }

    /// Fills the log up to the end that is lost later.
    async fn fill(&self) {
        for number in 1..=LOST {
            self.store.append(numbered("a", number)).await.unwrap();
        }
    }

    /// Restores the log as it was after [`KEPT`] events, in another process. Then the log grows past
    /// its old end.
    async fn restore(&self) {
        let kept = whole_log(&self.other).await;
        self.other.clear().await.unwrap();
        for event in kept.into_iter().take(KEPT as usize) {
            self.other.append(event.into_event()).await.unwrap();
        }
        self.grow().await;
    }

    /// Fills the log, reads it, and restores it. The last events of the read are lost then.
    async fn read_then_restore(&self) -> Events {
        self.fill().await;
        let read = self.store.query(&tag("a"), ReadOptions::new()).await;
        self.restore().await;
        read.expect("the log is read")
    }

    async fn grow(&self) {
        for number in 107..=112 {
            self.other.append(numbered("a", number)).await.unwrap();
        }
    }

    async fn close(self) {
        self.store.close().await;
        self.other.close().await;
    }
}

/// Makes a test of each of these functions on each backend.
macro_rules! on_each_backend {
    ($($test:ident)*) => {
        $crate::restored::on_each_backend! { @ memory $($test)* }
        $crate::restored::on_each_backend! { @ sqlite $($test)* }
        $crate::restored::on_each_backend! { @ postgres $($test)* }
    };
    (@ $backend:ident $($test:ident)*) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test($crate::restored::Log::$backend().await).await;
                }
            )*
        }
    };
}
pub(crate) use on_each_backend;

/// An event with this tag and number.
fn numbered(tag: &str, number: u64) -> Event {
    let event = tagged(tag).to_builder().json(&number).build();
    event.expect("the event is valid")
}

fn number(event: &SequencedEvent) -> u64 {
    event.json().expect("a number")
}

/// Asserts that the log noticed that the caller's past was replaced at this position.
#[track_caller]
fn assert_replaced<T: std::fmt::Debug>(answer: Result<T, Error>, position: u64) {
    assert!(
        matches!(&answer, Err(Error::PastReplaced { position: found }) if *found == at(position)),
        "{answer:?}"
    );
    let error = answer.expect_err("it is an error");
    assert!(!error.is_transient());
}

/// Saves the bookmark as a program would, and reads it again.
fn saved(bookmark: Bookmark) -> Bookmark {
    bookmark.to_string().parse().expect("a bookmark")
}
