//! A member that stands still between its read and its transaction, as a process that is paused, and goes
//! on later. By then its slices may belong to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dcb_core::{EventStore as _, Query, SequencedEvent, SliceKey, SlicedRunner};

use super::ground::{Ground, on_each_database, options};
use crate::support::events::whole_log;
use crate::support::wait::wait_until;

on_each_database! {
    late_member_changes_nothing_once_others_have_its_slices
    late_member_changes_nothing_once_the_number_of_slices_is_another
    member_goes_on_from_the_place_of_a_commit_whose_answer_was_lost
    members_that_are_declared_dead_again_and_again_handle_each_event_once
}

/// The first event of the batch before which the member stands still.
const SECOND_BATCH: u64 = 17;
const EVENTS: u64 = 200;

/// A member in a separate runtime: while it stands still, it gives no sign of life.
struct Late {
    is_still: Arc<AtomicBool>,
    may_go_on: Arc<AtomicBool>,
    member: JoinHandle<()>,
}

impl Late {
    /// Starts a member, and waits until it has read a second batch.
    async fn of<G: Ground>(ground: &G) -> Self {
        let (is_still, may_go_on) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let stopping = (Arc::clone(&is_still), Arc::<AtomicBool>::clone(&may_go_on));
        // The key is asked for between the read and the transaction.
        let key = SliceKey::by(move |event| {
            let (is_still, may_go_on) = &stopping;
            if event.position().get() == SECOND_BATCH && !is_still.swap(true, Ordering::SeqCst) {
                while !may_go_on.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            event.tag_value("course").map(str::to_owned)
        });
        let ground = ground.clone();
        let member = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("the runtime starts");
            runtime.block_on(async {
                let store = ground.connect().await;
                let mut member = SlicedRunner::new(store, Query::all(), key, ground.model(1))
                    .options(options().workers(1));
                member.catch_up().await.unwrap();
            });
        });
        wait_until("the member stands still", async || {
            is_still.load(Ordering::SeqCst)
        })
        .await;
        Self {
            is_still,
            may_go_on,
            member,
        }
    }

    /// Lets the member go on, and waits for its end.
    async fn end(self) {
        assert!(self.is_still.load(Ordering::SeqCst));
        self.may_go_on.store(true, Ordering::SeqCst);
        let ended = tokio::task::spawn_blocking(|| self.member.join()).await;
        ended.unwrap().unwrap();
    }
}

async fn late_member_changes_nothing_once_others_have_its_slices<G: Ground>() {
    let ground = G::new().await;
    ground.append(7, EVENTS).await;
    let late = Late::of(&ground).await;
    ground.assert_complete(1).await;
    late.end().await;
    ground.assert_complete(1).await;
    ground.store().close().await;
}

/// Doubling changes no position of a slice, but half of its keys are in another one.
async fn late_member_changes_nothing_once_the_number_of_slices_is_another<G: Ground>() {
    let ground = G::new().await;
    ground.append(50, EVENTS).await;
    let late = Late::of(&ground).await;
    ground.resize(1, 16, Duration::ZERO).await.unwrap();
    late.end().await;
    ground.assert_complete(1).await;
    ground.store().close().await;
}

/// The second batch is in the tables, and the slices have its place. The member does not know.
async fn member_goes_on_from_the_place_of_a_commit_whose_answer_was_lost<G: Ground>() {
    const LAST: u64 = 2 * SECOND_BATCH - 2;
    let ground = G::new().await;
    ground.append(7, EVENTS).await;
    let late = Late::of(&ground).await;
    let events = whole_log(ground.store()).await;
    let second = &events[SECOND_BATCH as usize - 1..LAST as usize];
    let row = |event: &SequencedEvent| {
        let key = event.tag_value("course").unwrap();
        format!("('{key}', {})", event.position())
    };
    let rows: Vec<String> = second.iter().map(row).collect();
    let place = second[second.len() - 1].bookmark();
    ground
        .run(&format!(
            "INSERT INTO @seen_1 (key, position) VALUES {}; \
             UPDATE @projection_slice SET position = {}, bookmark = '{place}'",
            rows.join(", "),
            place.position
        ))
        .await;
    late.end().await;
    ground.assert_complete(1).await;
    ground.store().close().await;
}

/// Members whose signs of life are lost hold the same slices in turns.
async fn members_that_are_declared_dead_again_and_again_handle_each_event_once<G: Ground>() {
    let ground = G::new().await;
    let members: Vec<_> = (0..3)
        .map(|_| {
            let mut member = ground.runner(1);
            tokio::spawn(async move { member.run().await })
        })
        .collect();
    for _ in 0..30 {
        ground.append(50, 100).await;
        ground.run("DELETE FROM @projection_member").await;
    }
    for member in members {
        member.abort();
    }
    ground.assert_complete(1).await;
    ground.store().close().await;
}
