//! Appends without a barrier, for as long as a store needs to meet its own checkpoints, beside a loop that
//! only writes rows.

use super::embedded::{Embedded, Storage};
use super::raw::BareRows;
use super::{MANY, PEER};
use bench::load::{Direct, DirectService, Load, Schedule};
use bench::{BoxError, Goal, Outcome, Profile, Row, Target};
use std::sync::Arc;
use std::time::Duration;

const TABLE: &str = "sqlite_sustained";
const EMPTY: &str = "Empty log";
/// With this share of the loop over rows, rows would be what bounds the store.
const SHARE: f64 = 0.67;

pub(crate) fn declare(target: &mut Target) {
    let profile = target.profile().clone();
    for storage in [Storage::File, Storage::Memory] {
        let mut loads = Vec::new();
        for callers in [1, MANY] {
            let bare = bare_row(storage, callers);
            let goal = Goal::share_of_row(&bare, SHARE);
            loads.push((bare, bare_rows(&profile, storage, callers)));
            let threads = row(storage, "threads", callers).goal(goal.clone());
            loads.push((threads, on_threads(&profile, storage, callers)));
            if storage == Storage::File {
                let tasks = row(storage, "tasks", callers).goal(goal);
                loads.push((tasks, in_tasks(&profile, callers)));
            }
        }
        target.take_turns(loads);
    }
}

fn row(storage: Storage, api: &str, callers: usize) -> Row {
    let row = Row::new("AppendIf", EMPTY)
        .variant(format!("{}, {api}, sustained", storage.name()))
        .concurrency(callers)
        .fills(TABLE)
        .one_op("1 append of 1 event under a condition on 2 tags")
        .goal(Goal::no_failed_call());
    match (storage, callers) {
        (Storage::File, MANY) => row
            .goal(Goal::calls_per_second(60_000.0).peer(PEER))
            .goal(Goal::p99(Duration::from_millis(5))),
        (Storage::Memory, MANY) => row
            .goal(Goal::calls_per_second(80_000.0))
            .goal(Goal::p99(Duration::from_millis(5))),
        (Storage::Memory, _) => row
            .goal(Goal::calls_per_second(80_000.0))
            .goal(Goal::p99(Duration::from_micros(50))),
        (Storage::File, _) => row,
    }
}

/// The loop commits as many events at once as there are callers in the rows beside it.
fn bare_row(storage: Storage, events: usize) -> Row {
    Row::new("Rows alone", EMPTY)
        .variant(format!("{}, sustained", storage.name()))
        .events(events as u64)
        .fills(TABLE)
        .one_op("1 commit of this many rows with the columns of an event and the index of ids, by hand: no tag keys, no conditions")
        .goal(Goal::no_failed_call())
}

fn bare_rows(profile: &Profile, storage: Storage, events: usize) -> Load {
    let setup = move || BareRows::open(storage);
    blocking(profile, 1, setup, move |rows| rows.commit(events as i64))
}

fn on_threads(profile: &Profile, storage: Storage, callers: usize) -> Load {
    let setup = move || Embedded::empty(storage);
    blocking(profile, callers, setup, Embedded::append_if)
}

fn in_tasks(profile: &Profile, callers: usize) -> Load {
    Load::new(Schedule::sustained(profile, callers), || async {
        let embedded = Arc::new(Embedded::empty_async().await?);
        Ok(DirectService::new(move |_| {
            let embedded = Arc::clone(&embedded);
            move || {
                let embedded = Arc::clone(&embedded);
                Direct::new(async move {
                    embedded.append_if_async().await?;
                    Ok(Outcome::Success)
                })
            }
        }))
    })
}

fn blocking<S: Send + Sync + 'static>(
    profile: &Profile,
    callers: usize,
    setup: impl Fn() -> Result<S, BoxError> + Send + Sync + 'static,
    call: impl Fn(&S) -> Result<(), BoxError> + Copy + Send + Sync + 'static,
) -> Load {
    let schedule = Schedule::sustained(profile, callers);
    Load::blocking(schedule, setup, move |state| {
        call(state)?;
        Ok(Outcome::Success)
    })
}
