//! Senders that end and start again, with what is not sent yet.

use std::time::Duration;

use tsdb::{Db, LogTail, Matcher, TailStart};

use super::{LONG, Receiver, append, forward, quick, unsent_files, wait_until, written_through};
use crate::support::{Disk, Survivors, dump, labels};

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
    // `kill -9` would leave the files as they are now.
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

/// A sender that is killed again and again between the request and its answer.
#[test]
fn killed_sender_gets_on_although_the_receiver_has_its_last_request() {
    let disk = Disk::new();
    let receiver = Receiver::new();
    receiver.inside(|inside| inside.needs_order = true);
    let mut killed = disk;
    for round in 0..3 {
        receiver.inside(|inside| inside.answers_are_lost = true);
        let (db, tail) = LogTail::open(killed.clone(), written_through()).expect("opens");
        append(&db, round * 40..round * 40 + 40);
        let forwarder = forward(tail, &receiver, quick());
        wait_until("the answer is lost", || forwarder.stats().retries > 0);
        let stopped = killed.after_crash(&Survivors::All);
        receiver.inside(|inside| inside.answers_are_lost = false);
        let stats = forwarder.close(LONG);
        assert_eq!(stats.rejected, 0, "round {round}");
        killed = stopped;
    }
    let (db, tail) = LogTail::open(killed, written_through()).expect("opens");
    let before = receiver.requests();
    let stats = forward(tail, &receiver, quick()).close(LONG);
    assert_eq!(stats.rejected, 0);
    assert!(receiver.requests() - before < 16, "{}", receiver.requests());
    assert_eq!(receiver.dump(), dump(&db));
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
