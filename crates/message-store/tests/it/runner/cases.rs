//! Rules for a runner, on any store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use message_store::{
    Category, CategoryRead, ConsumerGroup, Error, ExpectedVersion, Failure, Fault, GlobalPosition,
    Message, MessageRunner, MessageStore, RecordedMessage,
};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use uuid::Uuid;

use super::support::{Seen, quick, write_numbers};
use crate::support::{category, stream_name, wait_until, whole_stream, write};

const LIMIT: Duration = Duration::from_secs(60);

pub(super) async fn messages_are_handled_in_order_and_once(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..250).await;
    write(&store, "b-1", 1000).await;
    let seen = Seen::default();
    for expected in [250, 250, 260] {
        if expected == 260 {
            write_numbers(&store, 250..260).await;
        }
        let handler = |message| {
            seen.note(&message);
            async { Ok(()) }
        };
        let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
        let mut runner = runner.unwrap().options(quick());
        runner.catch_up().await.unwrap();
        let numbers: Vec<u64> = (0..expected).collect();
        assert_eq!(seen.numbers(), numbers);
        let progress = runner.progress();
        let head = store.head().await.unwrap();
        assert_eq!(progress.position(), head.map(|head| head.position));
        assert_eq!((progress.lag(), progress.poisoned()), (0, 0));
    }
    let checkpoint = store.checkpoint("a-c").await.unwrap();
    let head = store.head().await.unwrap();
    assert_eq!(checkpoint, head, "it has the message's id");
}

/// A handler that notes every message and fails at one of them.
pub(super) fn fails_at(
    failing: u64,
    seen: Seen,
) -> impl FnMut(RecordedMessage) -> std::future::Ready<Result<(), Failure>> {
    move |message| {
        std::future::ready(if seen.note(&message) == failing {
            Err(format!("{} tries\0", seen.len()).into())
        } else {
            Ok(())
        })
    }
}

pub(super) async fn failing_message_is_tried_and_then_set_aside(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..2).await;
    let failing = Message::builder("Placed")
        .data(&2)
        .metadata(&"kept")
        .build();
    let written = store
        .write_message(&stream_name("a-2"), failing.unwrap(), ExpectedVersion::Any)
        .await
        .unwrap();
    write_numbers(&store, 3..5).await;
    let seen = Seen::default();
    let handler = fails_at(2, seen.clone());
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(3));
    runner.catch_up().await.unwrap();
    assert_eq!(seen.numbers(), [0, 1, 2, 2, 2, 3, 4]);
    let progress = runner.progress();
    assert_eq!((progress.handled(), progress.poisoned()), (4, 1));
    assert!(progress.outage().is_none());

    assert_eq!(runner.poison_stream().as_str(), "poison-c");
    let poison = whole_stream(&store, "poison-c").await;
    assert_eq!(poison.len(), 1);
    assert_eq!(
        (poison[0].message_type(), poison[0].data_json()),
        ("Placed", "2")
    );
    let metadata: Value = poison[0].metadata().unwrap();
    let message = &whole_stream(&store, "a-2").await[0];
    let expected = serde_json::json!({
        "messageId": message.id(), "messageType": "Placed", "streamName": "a-2", "position": 0,
        "globalPosition": written.global_position.get(), "consumer": "c", "tries": 3,
        "error": "5 tries", "metadata": "kept",
    });
    assert_eq!(metadata, expected);
}

/// The runner died between the write and the checkpoint, or the answer of the write was lost.
pub(super) async fn poison_is_written_once(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..3).await;
    for (tries, consumer, copies) in [(1, "c", 1), (2, "c", 1), (1, "d", 1)] {
        store
            .delete_checkpoint(&format!("a-{consumer}"))
            .await
            .unwrap();
        let handler = fails_at(1, Seen::default());
        let runner = MessageRunner::new(store.clone(), consumer, category("a"), handler);
        let mut runner = runner.unwrap().options(quick().max_tries(tries));
        runner.catch_up().await.unwrap();
        let stream = format!("poison-{consumer}");
        assert_eq!(
            whole_stream(&store, &stream).await.len(),
            copies,
            "{stream}"
        );
    }
}

pub(super) async fn panic_of_the_handler_is_a_failure(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..4).await;
    let handler = |message: RecordedMessage| {
        let number: u64 = message.data().unwrap();
        assert_ne!(number, 1, "before the first await");
        async move {
            tokio::task::yield_now().await;
            assert_ne!(number, 2, "after it");
            Ok(())
        }
    };
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(2));
    runner.catch_up().await.unwrap();
    assert_eq!(runner.progress().handled(), 2);
    let poison = whole_stream(&store, "poison-c").await;
    let errors: Vec<Value> = poison.iter().map(|copy| copy.metadata().unwrap()).collect();
    assert_eq!(errors.len(), 2);
    for (error, text) in errors.iter().zip(["before the first await", "after it"]) {
        let error = error["error"].as_str().unwrap();
        assert!(
            error.starts_with("the handler panicked: ") && error.contains(text),
            "{error}"
        );
    }
}

/// With the error, the copy would be larger than a message may be.
pub(super) async fn large_poison_is_written_without_its_data(store: impl MessageStore + Clone) {
    let max = message_store::Limits::default().max_message_bytes;
    let large = "x".repeat(max - "Large".len() - 2);
    let large = Message::builder("Large").data(&large).build().unwrap();
    store
        .write_message(&stream_name("a-1"), large, ExpectedVersion::Any)
        .await
        .unwrap();
    let handler = |_| async { Err("too large for me".into()) };
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(1));
    runner.catch_up().await.unwrap();
    let poison = whole_stream(&store, "poison-c").await;
    assert_eq!((poison.len(), poison[0].data_json()), (1, "null"));
    let metadata: Value = poison[0].metadata().unwrap();
    assert_eq!(metadata["messageType"], "Large");
    assert_eq!(metadata["streamName"], "a-1");
}

pub(super) async fn runner_of_all_categories_skips_its_poison(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..2).await;
    let handler = |_| async { Err("no".into()) };
    let runner = MessageRunner::new(store.clone(), "c", Category::all(), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(1));
    for _ in 0..3 {
        runner.catch_up().await.unwrap();
        assert_eq!(whole_stream(&store, "poison-c").await.len(), 2);
    }
    assert_eq!(runner.progress().lag(), 0);
}

/// Each would copy the other's copies without end.
pub(super) async fn consumers_of_all_categories_copy_no_copies(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..1).await;
    for _ in 0..3 {
        for consumer in ["audit", "index"] {
            let handler = |_| async { Err("no".into()) };
            let runner = MessageRunner::new(store.clone(), consumer, Category::all(), handler);
            let mut runner = runner.unwrap().options(quick().max_tries(1));
            runner.catch_up().await.unwrap();
        }
    }
    let poison = category("poison");
    let copies = store.get_category_messages(&poison, CategoryRead::default());
    assert_eq!(copies.await.unwrap().len(), 2);
    // A consumer of the copies passes over one that it can't handle.
    let seen = Seen::default();
    let handler = |message: RecordedMessage| {
        seen.note(&message);
        async { Err("no".into()) }
    };
    let runner = MessageRunner::new(store.clone(), "again", category("poison"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(1));
    runner.catch_up().await.unwrap();
    assert_eq!(seen.numbers(), [0, 0]);
    assert_eq!(runner.progress().poisoned(), 0);
}

/// A message that looks like a copy, but isn't one, is set aside like any other.
pub(super) async fn message_that_names_another_is_no_copy(store: impl MessageStore + Clone) {
    let named = serde_json::json!({"messageId": Uuid::nil(), "error": "x"});
    let message = Message::builder("T")
        .data(&0)
        .metadata(&named)
        .build()
        .unwrap();
    let stream = stream_name("poison-by-hand");
    let written = store.write_message(&stream, message, ExpectedVersion::Any);
    written.await.unwrap();
    let handler = |_| async { Err("no".into()) };
    let runner = MessageRunner::new(store.clone(), "c", category("poison"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(1));
    runner.catch_up().await.unwrap();
    assert_eq!(whole_stream(&store, "poison-c").await.len(), 1);
}

/// A service may give one name to its consumers of two categories, or change a consumer's category.
pub(super) async fn consumer_of_another_category_skips_nothing(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..3).await;
    let payment = Message::builder("Paid").data(&7).build().unwrap();
    store
        .write_message(&stream_name("payment-1"), payment, ExpectedVersion::Any)
        .await
        .unwrap();
    write_numbers(&store, 3..6).await;
    let mut all = Vec::new();
    for followed in [category("a"), category("payment"), Category::all()] {
        let seen = Seen::default();
        let handler = |message: RecordedMessage| {
            seen.note(&message);
            async { Ok(()) }
        };
        let runner = MessageRunner::new(store.clone(), "billing", followed, handler);
        let mut runner = runner.unwrap().options(quick());
        runner.catch_up().await.unwrap();
        all.push(seen.len());
    }
    assert_eq!(all, [6, 1, 7]);
}

pub(super) async fn outage_of_the_handler_does_not_count_as_a_try(
    store: impl MessageStore + Clone + 'static,
) {
    write_numbers(&store, 0..2).await;
    let tries = Arc::new(AtomicU32::new(0));
    let tried = Arc::clone(&tries);
    let handler = move |_| {
        let number = tried.fetch_add(1, Ordering::SeqCst);
        async move {
            match number {
                0..20 => Err(Failure::Outage("the mail server is down".into())),
                _ => Ok(()),
            }
        }
    };
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(2));
    let progress = runner.progress();
    let running = tokio::spawn(async move { runner.catch_up().await });
    wait_until("the outage shows", async || {
        let outage = progress.outage().map(|outage| outage.to_string());
        outage.as_deref() == Some("the mail server is down") || running.is_finished()
    })
    .await;
    running.await.unwrap().unwrap();
    assert_eq!(tries.load(Ordering::SeqCst), 22);
    assert_eq!((progress.handled(), progress.poisoned()), (2, 0));
    assert!(progress.outage().is_none());
}

pub(super) async fn stop_finishes_the_handler_and_saves_the_checkpoint(
    store: impl MessageStore + Clone + 'static,
) {
    write_numbers(&store, 0..10).await;
    let (seen, gate) = (Seen::default(), Arc::new(Notify::new()));
    let handler = {
        let (seen, gate) = (seen.clone(), Arc::clone(&gate));
        move |message: RecordedMessage| {
            let (seen, gate) = (seen.clone(), Arc::clone(&gate));
            async move {
                if message.data::<u64>()? == 3 {
                    gate.notified().await;
                }
                seen.note(&message);
                Ok(())
            }
        }
    };
    let (stop, signal) = oneshot::channel::<()>();
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick());
    let running = tokio::spawn(async move { runner.run_until(signal).await });
    wait_until("three are handled", async || seen.len() == 3).await;
    stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!running.is_finished(), "a handler runs");
    gate.notify_one();
    let ended = timeout(LIMIT, running).await.expect("the run ends");
    ended.unwrap().unwrap();
    assert_eq!(seen.numbers(), [0, 1, 2, 3]);
    let fourth = whole_stream(&store, "a-3").await[0].bookmark();
    assert_eq!(store.checkpoint("a-c").await.unwrap(), Some(fourth));
}

pub(super) async fn stop_ends_the_pauses_of_a_failing_handler(
    store: impl MessageStore + Clone + 'static,
) {
    write_numbers(&store, 0..2).await;
    let seen = Seen::default();
    let handler = fails_at(1, seen.clone());
    let hour = Duration::from_secs(3600);
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().pauses(hour, hour));
    let (stop, signal) = oneshot::channel::<()>();
    let running = tokio::spawn(async move { runner.run_until(signal).await });
    wait_until("the handler has failed", async || seen.len() == 2).await;
    stop.send(()).unwrap();
    let ended = timeout(LIMIT, running).await.expect("the run ends");
    ended.unwrap().unwrap();
    // The message is not passed: the next run handles it.
    let first = whole_stream(&store, "a-0").await[0].bookmark();
    assert_eq!(store.checkpoint("a-c").await.unwrap(), Some(first));
}

pub(super) async fn members_of_a_group_have_their_own_checkpoints(
    store: impl MessageStore + Clone,
) {
    write_numbers(&store, 0..200).await;
    let mut all = Vec::new();
    for member in 0..2 {
        let seen = Seen::default();
        let group = ConsumerGroup::new(member, 2).unwrap();
        let handler = |message: RecordedMessage| {
            assert!(group.includes(message.stream_name()));
            seen.note(&message);
            async { Ok(()) }
        };
        let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
        let mut runner = runner.unwrap().group(group).options(quick().batch_size(7));
        assert_eq!(runner.checkpoint_name(), format!("a-c-{member}-of-2"));
        assert_eq!(runner.poison_stream().as_str(), "poison-c");
        runner.catch_up().await.unwrap();
        runner.catch_up().await.unwrap();
        assert_eq!(runner.progress().lag(), 0);
        assert!(seen.numbers().is_sorted());
        all.extend(seen.numbers());
    }
    all.sort_unstable();
    assert_eq!(all, (0..200).collect::<Vec<u64>>());
    assert_eq!(store.checkpoint("a-c").await.unwrap(), None);
}

/// The old members stopped at different places, and some have no stream. The new ones skip nothing, and
/// repeat no message that all old members of their streams had handled.
pub(super) async fn group_of_another_size_goes_on_where_the_old_one_stopped(
    store: impl MessageStore + Clone,
) {
    let run = async |member: i64, size: i64, old_size: u32| {
        let seen = Seen::default();
        let handler = |message| {
            seen.note(&message);
            async { Ok(()) }
        };
        let runner = MessageRunner::new(store.clone(), "c", category("a"), handler).unwrap();
        let group = ConsumerGroup::new(member, size).unwrap();
        let mut runner = runner.group(group).resized_from(old_size).options(quick());
        runner.catch_up().await.unwrap();
        seen.numbers()
    };
    write_numbers(&store, 0..100).await;
    let mut old = run(0, 2, 1).await;
    write_numbers(&store, 100..200).await;
    old.extend(run(1, 2, 1).await);
    write_numbers(&store, 200..300).await;
    let mut new = Vec::new();
    for member in 0..4 {
        new.extend(run(member, 4, 2).await);
    }
    // Member 0 stopped before 100, and its streams are those of members 0 and 2 now.
    let mut all = [old, new].concat();
    all.sort_unstable();
    assert_eq!(all, (0..300).collect::<Vec<_>>());
    write_numbers(&store, 300..310).await;
    let mut three = Vec::new();
    for member in 0..3 {
        three.extend(run(member, 3, 4).await);
    }
    three.sort_unstable();
    assert_eq!(three, (300..310).collect::<Vec<_>>());
    // The checkpoints of the first group of four are old by now.
    write_numbers(&store, 310..320).await;
    let mut four = Vec::new();
    for member in 0..4 {
        four.extend(run(member, 4, 3).await);
    }
    four.sort_unstable();
    assert_eq!(four, (310..320).collect::<Vec<_>>());
}

pub(super) async fn lag_ends_at_messages_of_other_categories(
    store: impl MessageStore + Clone + 'static,
) {
    write_numbers(&store, 0..5).await;
    let gate = Arc::new(Notify::new());
    let waits = Arc::clone(&gate);
    let handler = move |_| {
        let gate = Arc::clone(&waits);
        async move {
            gate.notified().await;
            Ok(())
        }
    };
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick());
    let progress = runner.progress();
    let running = tokio::spawn(async move { runner.run().await });
    wait_until("the runner has read", async || progress.lag() == 5).await;
    for number in 0..3 {
        write(&store, "b-1", number).await;
    }
    for _ in 0..5 {
        let handled = progress.handled();
        gate.notify_one();
        wait_until("it is handled", async || progress.handled() > handled).await;
    }
    wait_until("the lag is gone", async || {
        let head = store.head().await.unwrap();
        progress.lag() == 0 && progress.position() == head.map(|head| head.position)
    })
    .await;
    running.abort();
}

pub(super) async fn dropped_run_repeats_and_loses_nothing(store: impl MessageStore + Clone) {
    write_numbers(&store, 0..30).await;
    let seen = Seen::default();
    let handler = |message: RecordedMessage| {
        let seen = seen.clone();
        async move {
            if seen.note(&message) == 25 && seen.len() == 26 {
                std::future::pending::<()>().await;
            }
            Ok(())
        }
    };
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let options = quick().checkpoint_after(10, LIMIT);
    let mut runner = runner.unwrap().options(options);
    tokio::select! {
        ended = runner.run() => panic!("the run ended: {ended:?}"),
        () = wait_until("the handler hangs", async || seen.len() == 26) => {}
    }
    runner.catch_up().await.unwrap();
    let repeated: Vec<u64> = (0..=25).chain(20..30).collect();
    assert_eq!(seen.numbers(), repeated);
}

pub(super) async fn checkpoint_is_saved_while_the_runner_waits(
    store: impl MessageStore + Clone + 'static,
) {
    write_numbers(&store, 0..3).await;
    let runner = MessageRunner::new(store.clone(), "c", category("a"), |_| async { Ok(()) });
    let options = quick().checkpoint_after(1000, Duration::from_millis(30));
    let mut runner = runner.unwrap().options(options.poll_interval(LIMIT));
    let running = tokio::spawn(async move { runner.run().await });
    let head = store.head().await.unwrap();
    wait_until("the checkpoint is saved", async || {
        store.checkpoint("a-c").await.unwrap() == head
    })
    .await;
    running.abort();
}

pub(super) async fn closed_store_ends_the_run(store: impl MessageStore + Clone + 'static) {
    let runner = MessageRunner::new(store.clone(), "c", category("a"), |_| async { Ok(()) });
    let mut runner = runner.unwrap().options(quick());
    let running = tokio::spawn(async move { runner.run().await });
    store.close().await;
    let ended = timeout(LIMIT, running)
        .await
        .expect("the run ends")
        .unwrap();
    assert!(
        matches!(ended, Err(Error::Fault(Fault::Closed))),
        "{ended:?}"
    );
}

/// The store has lost all messages.
pub(super) async fn checkpoint_beyond_an_empty_store_is_refused(store: impl MessageStore + Clone) {
    let after = GlobalPosition::new(5);
    store.save_checkpoint("a-c", after).await.unwrap();
    let runner = MessageRunner::new(store.clone(), "c", category("a"), |_| async { Ok(()) });
    let mut runner = runner.unwrap().options(quick());
    for _ in 0..2 {
        let refused = runner.catch_up().await;
        assert!(
            matches!(refused, Err(Error::AfterBeyondHead { after: at, head: None }) if at == after),
            "{refused:?}"
        );
    }
}

/// Used by the tests of outages: each number at least once, in order of its first time.
pub(super) fn without_repeats(numbers: Vec<u64>) -> Vec<u64> {
    let mut firsts = Vec::new();
    for number in numbers {
        if !firsts.contains(&number) {
            firsts.push(number);
        }
    }
    firsts
}

/// An id that a handler derives, so that a repeated handler writes nothing twice.
pub(super) fn derived(message: &RecordedMessage) -> Uuid {
    let mut bytes = message.id().into_bytes();
    bytes[0] ^= 0xff;
    Uuid::from_bytes(bytes)
}

/// The position of a consumer, as a number.
pub(super) fn number(position: Option<GlobalPosition>) -> u64 {
    position.map_or(0, GlobalPosition::get)
}
