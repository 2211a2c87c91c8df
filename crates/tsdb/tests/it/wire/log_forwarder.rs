//! Forwarding from a log: to a receiver that fails, after restarts, and beyond the limits.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tsdb::wire::remote_write::{LogForwarder, LogForwarderOptions, SendError, Transport, write};
use tsdb::{
    Db, DbOptions, Durability, LogTail, Matcher, OpenOptions, STALE_MARKER, Sample, TailStart,
};

use crate::support::wire::db;
use crate::support::{Disk, Dump, Survivors, dump, labels, options};

const LONG: Duration = Duration::from_secs(60);

/// A receiver in this process. Clones share it.
#[derive(Clone)]
struct Receiver(Arc<Mutex<Inside>>);

struct Inside {
    db: Db,
    bodies: Vec<Vec<u8>>,
    /// Requests fail for now.
    is_down: bool,
    /// A request with this value is rejected as a whole.
    rejected_value: Option<f64>,
}

impl Receiver {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Inside {
            db: db(),
            bodies: Vec::new(),
            is_down: false,
            rejected_value: None,
        })))
    }

    fn down() -> Self {
        let receiver = Self::new();
        receiver.set_down(true);
        receiver
    }

    fn set_down(&self, is_down: bool) {
        self.inside(|inside| inside.is_down = is_down);
    }

    fn inside<T>(&self, look: impl FnOnce(&mut Inside) -> T) -> T {
        look(&mut self.0.lock().expect("no test panics under the lock"))
    }

    fn requests(&self) -> usize {
        self.inside(|inside| inside.bodies.len())
    }

    fn dump(&self) -> Dump {
        self.inside(|inside| dump(&inside.db))
    }
}

impl Transport for Receiver {
    fn send(&mut self, body: &[u8]) -> Result<(), SendError> {
        self.inside(|inside| {
            inside.bodies.push(body.to_vec());
            if inside.is_down {
                return Err(SendError::Retry {
                    reason: "down".into(),
                    after: None,
                });
            }
            let looked_at = db();
            let _ = write(&looked_at, body).expect("a request");
            let values = dump(&looked_at).into_values().flatten();
            let mut values = values.map(|(_, bits)| f64::from_bits(bits));
            if values.any(|value| Some(value) == inside.rejected_value) {
                return Err(SendError::Rejected {
                    reason: "out of order".into(),
                    divisible: true,
                });
            }
            let ingested = write(&inside.db, body).expect("a request");
            assert!(ingested.errors.is_empty());
            Ok(())
        })
    }
}

fn quick() -> LogForwarderOptions {
    LogForwarderOptions {
        max_per_request: 100,
        poll: Duration::from_millis(2),
        min_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(4),
        ..LogForwarderOptions::default()
    }
}

/// Like a server that keeps what it has acknowledged if it is killed; with small segments.
fn written_through() -> OpenOptions {
    OpenOptions {
        segment_bytes: 4096,
        ..options(Durability::WriteThrough { sync_every: None })
    }
}

fn forward(tail: LogTail, receiver: &Receiver, options: LogForwarderOptions) -> LogForwarder {
    LogForwarder::start(tail, receiver.clone(), options).expect("a thread")
}

/// Appends samples of two series, with their number as the value.
fn append(db: &Db, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let sample = Sample::new(number, number as f64);
        for host in 0..2 {
            db.append(&labels(host), sample)
                .expect("the write is accepted");
        }
    }
}

#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn unsent_files(disk: &Disk) -> usize {
    let names = disk.names().into_iter();
    names.filter(|name| name.starts_with("unsent-")).count()
}

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
fn forwarding_resumes_after_a_stop() {
    let disk = Disk::new();
    let receiver = Receiver::new();
    let mut sent = 0;
    for round in 0..4 {
        let (db, tail) = LogTail::open(disk.clone(), written_through()).expect("opens");
        let resumes = round > 0;
        assert_eq!(tail.start() == TailStart::Resumed, resumes);
        let forwarder = forward(tail, &receiver, quick());
        append(&db, round * 300..round * 300 + 300);
        let stats = forwarder.close(LONG);
        sent += stats.sent;
        db.close().expect("the database closes");
    }
    assert_eq!(sent, 2400, "each sample is sent once");
    let (db, _) = LogTail::open(disk, written_through()).expect("opens");
    assert_eq!(receiver.dump(), dump(&db));
}

#[test]
fn backlog_survives_restarts_and_snapshots_while_the_receiver_is_down() {
    let disk = Disk::new();
    let receiver = Receiver::down();
    for round in 0..3 {
        let (db, tail) = LogTail::open(disk.clone(), written_through()).expect("opens");
        let forwarder = forward(tail, &receiver, quick());
        append(&db, round * 300..round * 300 + 300);
        db.write_snapshot().expect("the snapshot is written");
        assert_eq!(forwarder.close(Duration::ZERO).sent, 0);
        db.close().expect("the database closes");
    }
    receiver.set_down(false);
    let (db, tail) = LogTail::open(disk.clone(), written_through()).expect("opens");
    assert_eq!(forward(tail, &receiver, quick()).close(LONG).sent, 1800);
    assert_eq!(receiver.dump(), dump(&db));
    assert_eq!(unsent_files(&disk), 0, "{:?}", disk.names());
}

/// A receiver that has the request, but whose answer was lost, must see the same request again: some
/// receivers reject a request with samples that they have as a whole, and with it the new ones.
#[test]
fn restart_repeats_the_last_request_unchanged() {
    let disk = Disk::new();
    let receiver = Receiver::new();
    let (db, tail) = LogTail::open(disk.clone(), written_through()).expect("opens");
    append(&db, 0..60);
    let forwarder = forward(tail, &receiver, quick());
    wait_until("the first request is sent", || {
        forwarder.stats().sent == 120
    });
    receiver.set_down(true);
    let before = receiver.requests();
    append(&db, 60..70);
    wait_until("the next request fails", || receiver.requests() > before);
    let tried = receiver.inside(|inside| inside.bodies[before].clone());
    append(&db, 70..200);
    // As after kill -9: whatever the files now hold.
    let killed = disk.after_crash(&Survivors::All);
    receiver.set_down(false);
    drop(forwarder);
    drop(db);

    let after = Receiver::new();
    let (db, tail) = LogTail::open(killed, written_through()).expect("opens");
    assert_eq!(tail.start(), TailStart::Resumed);
    append(&db, 200..210);
    forward(tail, &after, quick()).close(LONG);
    assert_eq!(after.inside(|inside| inside.bodies[0].clone()), tried);
    let received = after.dump();
    for host in 0..2 {
        let sent = &received[&labels(host).to_string()];
        // Some of the last samples went along in the request that was tried, none is missing.
        let times: Vec<i64> = sent.iter().map(|(time, _)| *time).collect();
        assert_eq!(times, (60..210).collect::<Vec<_>>());
    }
}

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

#[test]
fn samples_of_deleted_series_are_sent_while_their_labels_are_known() {
    let disk = Disk::new();
    let (db, tail) = LogTail::open(disk.clone(), written_through()).expect("opens");
    let receiver = Receiver::down();
    let forwarder = forward(tail, &receiver, quick());
    append(&db, 0..300);
    let delete = |db: &Db| {
        db.delete(&[Matcher::metric("cpu_usage")], i64::MIN, i64::MAX)
            .expect("deleted")
    };
    let _ = delete(&db);
    db.write_snapshot().expect("the snapshot is written");
    append(&db, 300..400);
    forwarder.close(Duration::ZERO);
    db.close().expect("the database closes");
    drop(db);
    // The kept segments begin with the first series.
    let (db, tail) = LogTail::open(disk, written_through()).expect("opens");
    receiver.set_down(false);
    let stats = forward(tail, &receiver, quick()).close(LONG);
    assert_eq!((stats.sent, stats.dropped_without_labels), (800, 0));
    assert_eq!(dump(&db).values().map(Vec::len).sum::<usize>(), 200);
}

#[test]
fn samples_whose_labels_are_lost_are_counted() {
    let disk = Disk::new();
    let (db, tail) = LogTail::open(disk.clone(), written_through()).expect("opens");
    let receiver = Receiver::new();
    let forwarder = forward(tail, &receiver, quick());
    append(&db, 0..1000);
    wait_until("the first samples arrive", || {
        forwarder.stats().sent == 2000
    });
    receiver.set_down(true);
    append(&db, 1000..1100);
    wait_until("the last samples fail", || forwarder.stats().retries > 0);
    let _ = db
        .delete(&[Matcher::metric("cpu_usage")], i64::MIN, i64::MAX)
        .expect("deleted");
    db.write_snapshot().expect("the snapshot is written");
    forwarder.close(Duration::ZERO);
    db.close().expect("the database closes");
    drop(db);
    receiver.set_down(false);
    // Neither the snapshot nor the kept segments name the series, which was deleted.
    let (_db, tail) = LogTail::open(disk, written_through()).expect("opens");
    let stats = forward(tail, &receiver, quick()).close(LONG);
    assert_eq!((stats.sent, stats.dropped_without_labels), (0, 200));
}

#[test]
fn replaced_log_is_noticed() {
    let disk = Disk::new();
    let (db, _) = LogTail::open(disk.clone(), written_through()).expect("opens");
    append(&db, 0..10);
    db.close().expect("the database closes");
    drop(db);
    let backup = disk.copy();
    let (db, tail) = LogTail::open(disk.clone(), written_through()).expect("opens");
    append(&db, 10..3000);
    assert_eq!(
        forward(tail, &Receiver::new(), quick()).close(LONG).sent,
        5980
    );
    db.close().expect("the database closes");
    drop(db);
    // The position of the newer log beside the older one.
    backup.put("forwarded", disk.bytes("forwarded"));
    let (db, tail) = LogTail::open(backup, written_through()).expect("opens");
    assert_eq!(tail.start(), TailStart::Replaced);
    append(&db, 10..20);
    let receiver = Receiver::new();
    assert_eq!(forward(tail, &receiver, quick()).close(LONG).sent, 20);
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
