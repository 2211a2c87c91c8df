//! A receiver that fails, and values of every kind.

use std::time::Duration;

use tsdb::wire::remote_write::SendError;
use tsdb::{LogTail, STALE_MARKER, Sample, TailStart};

use super::{LONG, Receiver, append, forward, quick, unsent_files, wait_until, written_through};
use crate::support::{Disk, dump, labels};

#[test]
fn samples_arrive_bit_for_bit_and_in_order() {
    let values = [
        STALE_MARKER,
        f64::NAN,
        f64::from_bits(0x7ff0_0000_0000_0001),
        f64::from_bits(0xffff_ffff_ffff_ffff),
        -0.0,
        f64::INFINITY,
        f64::MIN_POSITIVE / 2.0,
        0.1 + 0.2,
        f64::MAX,
    ];
    let times = [5, 3, 3, i64::MIN, i64::MAX, 0, -7, 1_700_000_000_123, 4];
    let disk = Disk::new();
    for in_memory in [true, false] {
        let opened = match in_memory {
            true => LogTail::in_memory(written_through().db),
            false => LogTail::open(disk.clone(), written_through()),
        };
        let (db, tail) = opened.expect("the database opens");
        let receiver = Receiver::new();
        let forwarder = forward(tail, &receiver, quick());
        for (value, time) in values.into_iter().zip(times) {
            db.append(&labels(0), Sample::new(time, value))
                .expect("accepted");
        }
        let run: Vec<Sample> = (0..5000)
            .map(|time| Sample::new(time, time as f64 / 10.0))
            .collect();
        let mut series = db.series(&labels(1)).expect("the labels are valid");
        series.append_batch(&run).expect("accepted");
        let stats = forwarder.close(LONG);
        assert_eq!(
            (stats.sent, stats.rejected),
            (5009, 0),
            "in memory: {in_memory}"
        );
        assert_eq!((stats.unsent_bytes, stats.lag), (0, Duration::ZERO));
        // With the policy of these databases, samples of one time stay in the order of arrival.
        assert_eq!(receiver.dump(), dump(&db), "in memory: {in_memory}");
        assert!(receiver.requests() >= 51);
    }
}

#[test]
fn outage_of_the_receiver_loses_nothing() {
    let disk = Disk::new();
    let (db, tail) = LogTail::open(disk, written_through()).expect("opens");
    assert_eq!(tail.start(), TailStart::Now);
    let receiver = Receiver::new();
    let forwarder = forward(tail, &receiver, quick());
    append(&db, 0..500);
    wait_until("the first samples arrive", || {
        forwarder.stats().sent == 1000
    });
    receiver.set_down(true);
    append(&db, 500..1000);
    wait_until("requests are retried", || forwarder.stats().retries > 3);
    let failing = forwarder.stats();
    assert!(matches!(failing.last_error, Some(SendError::Retry { .. })));
    wait_until("the size is measured", || {
        forwarder.stats().unsent_bytes > 5000
    });
    receiver.set_down(false);
    append(&db, 1000..1500);
    let stats = forwarder.close(LONG);
    assert_eq!(
        (stats.sent, stats.dropped_for_size, stats.dropped_for_age),
        (3000, 0, 0)
    );
    assert_eq!(receiver.dump(), dump(&db));
}

/// Prometheus rejects a request that it has already. The forwarder once divided it down to single
/// samples: more than a hundred requests, while no newer sample was sent.
#[test]
fn request_that_has_arrived_is_skipped_in_a_few_requests() {
    let (db, tail) = LogTail::in_memory(written_through().db).expect("opens");
    let receiver = Receiver::new();
    receiver.inside(|inside| (inside.needs_order, inside.answers_are_lost) = (true, true));
    append(&db, 0..50);
    let forwarder = forward(tail, &receiver, quick());
    wait_until("the request is skipped", || {
        forwarder.stats().repeated == 100
    });
    assert!(receiver.requests() < 8, "{}", receiver.requests());
    receiver.inside(|inside| inside.answers_are_lost = false);
    append(&db, 50..100);
    let stats = forwarder.close(LONG);
    assert_eq!((stats.sent, stats.repeated, stats.rejected), (100, 100, 0));
    assert_eq!(receiver.dump(), dump(&db));
}

/// The answer to a request that was not stored is lost, and the request has one wrong sample.
#[test]
fn request_that_has_not_arrived_is_not_skipped() {
    let (db, tail) = LogTail::in_memory(written_through().db).expect("opens");
    let receiver = Receiver::down();
    receiver.inside(|inside| {
        (inside.needs_order, inside.rejected_value) = (true, Some(37.0));
    });
    append(&db, 0..50);
    let forwarder = forward(tail, &receiver, quick());
    wait_until("the request is repeated", || forwarder.stats().retries > 1);
    receiver.set_down(false);
    let stats = forwarder.close(LONG);
    assert_eq!((stats.sent, stats.repeated, stats.rejected), (98, 0, 2));
}

#[test]
fn snapshot_keeps_segments_that_are_not_sent() {
    let disk = Disk::new();
    let (db, tail) = LogTail::open(disk.clone(), written_through()).expect("opens");
    let receiver = Receiver::down();
    let forwarder = forward(tail, &receiver, quick());
    append(&db, 0..1000);
    db.write_snapshot().expect("the snapshot is written");
    append(&db, 1000..1100);
    db.write_snapshot().expect("the snapshot is written");
    assert!(unsent_files(&disk) > 5, "{:?}", disk.names());
    receiver.set_down(false);
    wait_until("everything is sent", || forwarder.stats().sent == 2200);
    assert_eq!(forwarder.close(LONG).sent, 2200);
    assert_eq!(receiver.dump(), dump(&db));
    assert_eq!(unsent_files(&disk), 0, "{:?}", disk.names());
}

#[test]
fn failed_write_of_the_log_is_forwarded_when_it_succeeds() {
    let disk = Disk::new();
    let (db, tail) = LogTail::open(disk.clone(), written_through()).expect("opens");
    let receiver = Receiver::new();
    let forwarder = forward(tail, &receiver, quick());
    append(&db, 0..100);
    disk.set_space(Some(10));
    let refused = db.append(&labels(0), Sample::new(100, 100.0));
    assert!(refused.is_err());
    disk.set_space(None);
    wait_until("the log takes writes again", || {
        db.append(&labels(1), Sample::new(100, 100.0)).is_ok()
    });
    append(&db, 101..200);
    forwarder.close(LONG);
    // The refused sample stays in the database, so it may be forwarded too.
    assert_eq!(receiver.dump(), dump(&db));
}
