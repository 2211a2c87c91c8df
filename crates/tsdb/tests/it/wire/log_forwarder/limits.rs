//! Limits of size and age, and requests that are rejected.

use std::time::Duration;

use tsdb::wire::remote_write::{LogForwarderOptions, SendError};
use tsdb::{DbOptions, LogTail, Sample};

use super::{LONG, Receiver, append, forward, quick, wait_until, written_through};
use crate::support::{Disk, labels};

#[test]
fn oldest_samples_are_dropped_beyond_the_size() {
    for in_memory in [true, false] {
        let opened = match in_memory {
            true => LogTail::in_memory(written_through().db),
            false => LogTail::open(Disk::new(), written_through()),
        };
        let (db, tail) = opened.expect("opens");
        let receiver = Receiver::down();
        let limit = 20_000;
        let options = LogForwarderOptions {
            max_unsent_bytes: limit,
            ..quick()
        };
        let forwarder = forward(tail, &receiver, options);
        append(&db, 0..5000);
        wait_until("samples are dropped", || {
            let stats = forwarder.stats();
            stats.dropped_for_size > 0 && stats.unsent_bytes <= limit
        });
        receiver.set_down(false);
        let stats = forwarder.close(LONG);
        assert_eq!(stats.sent + stats.dropped_for_size, 10_000);
        // A frame with one sample takes some 50 bytes.
        assert!(stats.sent > 200, "{stats:?}");
        let received = receiver.dump();
        let last = received
            .values()
            .map(|samples| samples.last().map(|last| last.0));
        assert!(last.eq([Some(4999), Some(4999)]), "the newest are kept");
    }
}

#[test]
fn samples_are_dropped_beyond_the_age() {
    let (db, tail) = LogTail::in_memory(DbOptions::default()).expect("opens");
    let receiver = Receiver::down();
    let options = LogForwarderOptions {
        max_age: Duration::from_millis(1200),
        ..quick()
    };
    let forwarder = forward(tail, &receiver, options);
    append(&db, 0..50);
    wait_until("old samples are dropped", || {
        forwarder.stats().dropped_for_age == 100
    });
    append(&db, 50..60);
    receiver.set_down(false);
    assert_eq!(forwarder.close(LONG).sent, 20);
}

#[test]
fn samples_beside_a_rejected_one_get_through() {
    let (db, tail) = LogTail::in_memory(DbOptions::default()).expect("opens");
    let receiver = Receiver::new();
    receiver.inside(|inside| inside.rejected_value = Some(37.0));
    append(&db, 0..50);
    let stats = forward(tail, &receiver, quick()).close(LONG);
    assert_eq!((stats.sent, stats.rejected), (98, 2));
    assert!(matches!(stats.last_error, Some(SendError::Rejected { .. })));
    assert!(receiver.requests() < 40, "{}", receiver.requests());
}

#[test]
fn receiver_that_rejects_everything_gets_a_bounded_number_of_requests() {
    let (db, tail) = LogTail::in_memory(DbOptions::default()).expect("opens");
    let receiver = Receiver::new();
    receiver.inside(|inside| inside.rejected_value = Some(7.0));
    for time in 0..1000 {
        db.append(&labels(0), Sample::new(time, 7.0))
            .expect("accepted");
    }
    let options = LogForwarderOptions {
        max_per_request: 1000,
        ..quick()
    };
    let stats = forward(tail, &receiver, options).close(LONG);
    assert_eq!((stats.sent, stats.rejected), (0, 1000));
    assert!(receiver.requests() <= 129, "{}", receiver.requests());
}

/// `Duration::MAX` is longer than a clock can count.
#[test]
fn every_limit_may_have_its_greatest_value() {
    let (db, tail) = LogTail::in_memory(DbOptions::default()).expect("opens");
    append(&db, 0..50);
    let receiver = Receiver::new();
    let options = LogForwarderOptions {
        max_per_request: usize::MAX,
        max_unsent_bytes: u64::MAX,
        max_age: Duration::MAX,
        poll: Duration::MAX,
        min_backoff: Duration::MAX,
        max_backoff: Duration::MAX,
    };
    let forwarder = forward(tail, &receiver, options);
    wait_until("the samples are sent", || forwarder.stats().sent == 100);
    append(&db, 50..60);
    assert_eq!(forwarder.close(Duration::MAX).sent, 120);
}
