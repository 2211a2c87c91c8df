//! Writes to SQLite without a barrier, for as long as a store needs to meet its own checkpoints, beside a
//! loop that only writes rows.

use super::Published;
use super::backends::{Backend as _, Sqlite};
use super::ops::{message, new_stream};
use super::sqlite_floors::Raw;
use bench::load::{Direct, DirectService, Load, Schedule};
use bench::{Goal, Outcome, Row, Target};
use message_store::sqlite::BlockingSqliteStore;
use message_store::{ExpectedVersion, MessageStore as _};
use std::sync::Arc;
use std::time::Duration;

const TABLE: &str = "message_sustained";
const CALLERS: usize = 100;
/// With this share of the loop over rows, rows would be what bounds the store.
const SHARE: f64 = 0.67;

pub(crate) fn declare(target: &mut Target, sqlite: &Sqlite) {
    let sqlite = *sqlite;
    let schedule = |callers| Schedule::sustained(target.profile(), callers);
    let bare = Row::new("Rows alone", sqlite.label())
        .variant("sustained")
        .events(CALLERS as u64)
        .fills(TABLE)
        .one_op("1 commit of 100 rows of new streams, by hand: no version, no notification")
        .goal(Goal::no_failed_call());
    let row = |api: &str| {
        Row::new("WriteMessage", sqlite.label())
            .variant(format!("{api}, sustained"))
            .concurrency(CALLERS)
            .fills(TABLE)
            .one_op("1 write of a message with 42 bytes of JSON to a new stream")
            .goal(Goal::no_failed_call())
            .goal(Goal::share_of_row(&bare, SHARE))
            .goal(Goal::p99(Duration::from_millis(5)))
    };
    let open_raw = move || Raw::open(sqlite, Published::Write);
    let rows = Load::blocking(schedule(1), open_raw, |raw: &Raw| {
        raw.commit_rows(CALLERS)?;
        Ok(Outcome::Success)
    });
    let open = move || {
        let (folder, file) = sqlite.folder_and_file()?;
        Ok((BlockingSqliteStore::open(sqlite.config(file))?, folder))
    };
    let threads = Load::blocking(schedule(CALLERS), open, |(store, _)| {
        store.write_message(&new_stream("account"), message(), ExpectedVersion::Any)?;
        Ok(Outcome::Success)
    });
    let tasks = Load::new(schedule(CALLERS), move || async move {
        let opened = Arc::new(sqlite.open().await?);
        Ok(DirectService::new(move |_| {
            let opened = Arc::clone(&opened);
            move || {
                let opened = Arc::clone(&opened);
                Direct::new(async move {
                    let (name, any) = (new_stream("account"), ExpectedVersion::Any);
                    opened.store.write_message(&name, message(), any).await?;
                    Ok(Outcome::Success)
                })
            }
        }))
    });
    let loads = vec![
        (row("threads"), threads),
        (row("tasks"), tasks),
        (bare.clone(), rows),
    ];
    target.take_turns(loads);
}
