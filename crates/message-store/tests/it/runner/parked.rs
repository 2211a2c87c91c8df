//! The ways on after a message that a handler can't handle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use message_store::{
    Category, Error, Failure, MessageRunner, MessageStore, OnFailure, Position, RecordedMessage,
    SetAside,
};

use super::cases::fails_at;
use super::support::{Seen, quick, write_numbers};
use crate::support::{category, stream_name, wait_until, whole_category, whole_stream};

/// The numbers of stream `a-3` among the numbers below `end`.
fn of_stream(end: u64) -> Vec<u64> {
    (0..end).filter(|number| number % 10 == 3).collect()
}

fn others(end: u64) -> Vec<u64> {
    (0..end).filter(|number| number % 10 != 3).collect()
}

/// Runs a consumer to the end of the store. Its handler fails at the number 3 if `fails`.
async fn run(store: &(impl MessageStore + Clone), seen: &Seen, fails: bool) -> u64 {
    let failing = if fails { 3 } else { u64::MAX };
    let handler = fails_at(failing, seen.clone());
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let options = quick().max_tries(1).on_failure(OnFailure::Park);
    let mut runner = runner.unwrap().options(options);
    runner.catch_up().await.unwrap();
    assert_eq!(runner.progress().lag(), 0);
    runner.progress().parked()
}

async fn set_aside(store: &(impl MessageStore + Clone)) -> Vec<SetAside> {
    let runner = MessageRunner::new(store.clone(), "c", category("a"), |_| async { Ok(()) });
    runner.unwrap().set_aside().await.unwrap()
}

pub(super) async fn parked_stream_waits_for_its_replay_while_the_others_go_on(
    store: impl MessageStore + Clone,
) {
    write_numbers(&store, 0..30).await;
    let seen = Seen::default();
    assert_eq!(run(&store, &seen, true).await, 3);
    // The handler is mended, but the earlier messages of the stream still wait.
    write_numbers(&store, 30..40).await;
    assert_eq!(run(&store, &seen, false).await, 1);
    let tried = 3;
    let handled = seen.numbers().into_iter().filter(|number| *number != tried);
    assert_eq!(handled.collect::<Vec<_>>(), others(40));

    let aside = set_aside(&store).await;
    let numbers: Vec<u64> = aside.iter().map(|of| of.global_position.get()).collect();
    let stream = whole_stream(&store, "a-3").await;
    let waiting = stream.iter().map(|message| message.global_position().get());
    assert_eq!(numbers, waiting.collect::<Vec<_>>());
    assert!(
        aside
            .iter()
            .all(|of| of.is_parked && of.stream_name == "a-3")
    );
    let first = &aside[0];
    assert_eq!(
        (first.message_id, first.position, &*first.message_type),
        (stream[0].id(), Position::START, "Happened")
    );
    let errors: Vec<_> = aside.iter().map(|of| of.error.as_deref()).collect();
    assert_eq!(errors, [Some("4 tries"), None, None, None]);

    let replayed = Seen::default();
    for fails in [true, false] {
        let failing = if fails { 13 } else { u64::MAX };
        let handler = fails_at(failing, replayed.clone());
        let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
        let mut runner = runner.unwrap().options(quick().max_tries(2));
        let ended = runner.replay(&stream_name("a-3")).await;
        match fails {
            true => assert!(
                matches!(&ended, Err(Error::Handler { stream, .. }) if stream == "a-3"),
                "{ended:?}"
            ),
            false => assert_eq!(ended.unwrap(), 3),
        }
    }
    assert_eq!(replayed.numbers(), [3, 13, 13, 13, 23, 33]);
    assert_eq!(set_aside(&store).await, []);
    write_numbers(&store, 40..50).await;
    let seen = Seen::default();
    assert_eq!(run(&store, &seen, true).await, 0);
    assert_eq!(seen.numbers(), (40..50).collect::<Vec<_>>());
}

/// Messages arrive for a stream whose parked messages are being replayed.
pub(super) async fn replay_beside_a_runner_keeps_the_order_of_the_stream(
    store: impl MessageStore + Clone + 'static,
) {
    const ROUNDS: u64 = 20;
    write_numbers(&store, 0..20).await;
    let (seen, is_mended) = (Seen::default(), Arc::new(AtomicBool::new(false)));
    let handler = |seen: &Seen| {
        let (seen, is_mended) = (seen.clone(), Arc::clone(&is_mended));
        move |message: RecordedMessage| {
            let (seen, is_mended) = (seen.clone(), Arc::clone(&is_mended));
            async move {
                if message.stream_name() == "a-3" && !is_mended.load(Ordering::SeqCst) {
                    return Err(Failure::Message("not yet".into()));
                }
                seen.note(&message);
                Ok(())
            }
        }
    };
    let options = quick().max_tries(1).on_failure(OnFailure::Park);
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler(&seen));
    let mut runner = runner.unwrap().options(options);
    let progress = runner.progress();
    let running = tokio::spawn(async move { runner.run().await });
    wait_until("two are parked", async || progress.parked() == 2).await;
    is_mended.store(true, Ordering::SeqCst);
    let replaying = async {
        let second = MessageRunner::new(store.clone(), "c", category("a"), handler(&seen));
        let mut second = second.unwrap().options(quick());
        for _ in 0..ROUNDS {
            second.replay(&stream_name("a-3")).await.unwrap();
        }
    };
    let writing = async {
        for round in 2..2 + ROUNDS {
            write_numbers(&store, round * 10..round * 10 + 10).await;
        }
    };
    tokio::join!(replaying, writing);
    let end = (2 + ROUNDS) * 10;
    wait_until("the runner has passed all", async || {
        progress.handled() + progress.parked() >= end && progress.lag() == 0
    })
    .await;
    running.abort();
    let last = MessageRunner::new(store.clone(), "c", category("a"), handler(&seen));
    let mut last = last.unwrap();
    last.replay(&stream_name("a-3")).await.unwrap();
    let handled = seen.numbers().into_iter();
    let handled: Vec<u64> = handled.filter(|number| number % 10 == 3).collect();
    assert_eq!(handled, of_stream(end));
}

pub(super) async fn stop_ends_the_run_before_the_message(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..6).await;
    let seen = Seen::default();
    for failing in [3, u64::MAX] {
        let handler = fails_at(failing, seen.clone());
        let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
        let options = quick().max_tries(2).on_failure(OnFailure::Stop);
        let mut runner = runner.unwrap().options(options);
        let ended = runner.catch_up().await;
        let message = &whole_stream(&store, "a-3").await[0];
        match failing {
            3 => assert!(
                matches!(&ended, Err(Error::Handler { consumer, global_position, .. })
                    if consumer == "c" && *global_position == message.global_position()),
                "{ended:?}"
            ),
            _ => ended.unwrap(),
        }
    }
    assert_eq!(seen.numbers(), [0, 1, 2, 3, 3, 3, 4, 5]);
    assert_eq!(set_aside(&store).await, []);
}

pub(super) async fn skipped_message_is_listed(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..5).await;
    let handler = fails_at(3, Seen::default());
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(1));
    runner.catch_up().await.unwrap();
    let aside = runner.set_aside().await.unwrap();
    let listed: Vec<_> = aside
        .iter()
        .map(|of| (&*of.stream_name, of.is_parked, of.error.as_deref()))
        .collect();
    assert_eq!(listed, [("a-3", false, Some("4 tries"))]);
}

/// A message that retention has deleted is not handled, and holds nothing up.
pub(super) async fn deleted_message_does_not_hold_a_replay_up(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..20).await;
    run(&store, &Seen::default(), true).await;
    let stream = stream_name("a-3");
    store
        .truncate_stream(&stream, Position::new(1))
        .await
        .unwrap();
    let seen = Seen::default();
    let handler = fails_at(u64::MAX, seen.clone());
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    assert_eq!(runner.unwrap().replay(&stream).await.unwrap(), 1);
    assert_eq!(seen.numbers(), [13]);
    assert_eq!(set_aside(&store).await, []);
}

/// Each would park the other's records without end.
pub(super) async fn consumers_of_all_categories_park_no_records(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..1).await;
    for _ in 0..3 {
        for consumer in ["audit", "index"] {
            let handler = |_| async { Err("no".into()) };
            let runner = MessageRunner::new(store.clone(), consumer, Category::all(), handler);
            let options = quick().max_tries(1).on_failure(OnFailure::Park);
            let mut runner = runner.unwrap().options(options);
            runner.catch_up().await.unwrap();
            assert_eq!(runner.progress().lag(), 0);
        }
    }
    assert_eq!(whole_category(&store, "parked").await.len(), 2);
}
