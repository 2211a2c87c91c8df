//! The calls of a peer that stores events.

use crate::log::{Log, SMALL, prepared};
use peer_protocol::{Dataset, EventPeer as _, Events, Operation, Peer as _, Run};

fn run(operation: Operation, callers: usize, limit: u64) -> Run {
    Run {
        operation,
        callers,
        seconds: 60.0,
        limit: Some(limit),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_makes_its_calls_and_counts_their_events() {
    let mut peer = prepared(Log::default()).await;
    for (operation, callers, calls, events) in [
        (Operation::AppendIf, 3, 40, 40),
        (Operation::AppendBatch { events: 64 }, 2, 5, 320),
        (Operation::ReadCourse { events: 5 }, 1, 10, 50),
        (Operation::ReadCourse { events: 34 }, 4, 10, 340),
        (Operation::ReadCourse { events: 100 }, 1, 3, 300),
        (Operation::ReadAnyCourse, 4, 50, 50 * 34),
        (Operation::ReadLog, 1, 2, 2 * (3_000 + 360)),
        (Operation::Deliver, 4, 40, 40),
        (Operation::Decide { courses: 1 }, 1, 70, 70),
        (Operation::Decide { courses: 8 }, 4, 70, 70),
        (Operation::DecideCold, 2, 70, 70),
        (Operation::Rush, 50, 100, 60),
        // The events of the rows before are no reason for a conflict.
        (Operation::AppendIf, 1, 40, 40),
    ] {
        let answer = peer.run(&run(operation, callers, calls)).await;
        assert_eq!(answer.failure, None, "{operation:?}");
        let counted = (answer.calls, answer.events, answer.conflicts, answer.wrong);
        assert_eq!(counted, (calls, events, 0, 0), "{operation:?}");
        assert_eq!(answer.latencies.calls(), calls, "{operation:?}");
        assert!(answer.seconds > 0.0, "{operation:?}");
    }
}

#[tokio::test]
async fn store_that_an_earlier_process_has_filled_is_read_and_appended_to() {
    let filled = Log::default();
    let events = Dataset::new(SMALL).events().collect();
    filled.append(events, None).await.unwrap();
    let mut peer = Events::new(filled);
    assert_eq!(peer.resume(SMALL).await, Ok(Some(3_000)));
    for operation in [
        Operation::ReadAnyCourse,
        Operation::DecideCold,
        Operation::AppendIf,
    ] {
        let answer = peer.run(&run(operation, 1, 10)).await;
        let counted = (answer.calls, answer.conflicts, answer.failure);
        assert_eq!(counted, (10, 0, None), "{operation:?}");
    }
}

/// The rush is a check too: a store that accepts every condition gives away more seats than there are.
#[tokio::test(flavor = "multi_thread")]
async fn rush_finds_a_store_that_ignores_conditions() {
    let log = Log {
        ignores_conditions: true,
        ..Log::default()
    };
    let mut peer = prepared(log).await;
    let answer = peer.run(&run(Operation::Rush, 64, 640)).await;
    assert!(answer.wrong > 0, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_says_why_it_failed() {
    let log = Log {
        has_no_subscription: true,
        ..Log::default()
    };
    let mut peer = prepared(log).await;
    let answer = peer.run(&run(Operation::Deliver, 4, 40)).await;
    assert_eq!(answer.failure.as_deref(), Some("it has no subscription"));
    assert_eq!(answer.calls, 0);
}

#[tokio::test]
async fn delivery_to_no_callers_makes_no_calls() {
    let mut peer = prepared(Log::default()).await;
    let answer = peer.run(&run(Operation::Deliver, 0, 40)).await;
    assert_eq!((answer.calls, answer.failure), (0, None));
}

/// Time passes by itself while all tasks wait.
#[tokio::test(start_paused = true)]
async fn event_that_is_never_delivered_is_a_failure() {
    let log = Log {
        loses_deliveries: true,
        ..Log::default()
    };
    let mut peer = prepared(log).await;
    let answer = peer.run(&run(Operation::Deliver, 1, 40)).await;
    let expected = "the event at 3001 was not delivered within 10s";
    assert_eq!(answer.failure.as_deref(), Some(expected));
}

#[tokio::test]
async fn log_that_is_not_read_whole_is_a_failure() {
    let mut peer = prepared(Log {
        loses_its_first_event: true,
        ..Log::default()
    })
    .await;
    let answer = peer.run(&run(Operation::ReadLog, 1, 1)).await;
    let expected = "a log of 3000 events has 2999";
    assert_eq!(answer.failure.as_deref(), Some(expected));
}

#[tokio::test]
async fn cold_decisions_end_with_the_students() {
    let mut peer = prepared(Log::default()).await;
    let answer = peer.run(&run(Operation::DecideCold, 1, 601)).await;
    assert_eq!((answer.calls, answer.failures), (600, 1));
}

#[tokio::test]
async fn store_of_events_refuses_messages() {
    let mut peer = prepared(Log::default()).await;
    let answer = peer.run(&run(Operation::WriteMessage, 1, 1)).await;
    assert_eq!((answer.calls, answer.failures), (0, 1));
}
