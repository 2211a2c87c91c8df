use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tsdb::wire::remote_write::{
    Forwarder, ForwarderOptions, QueueFull, SendError, Transport, write,
};
use tsdb::{Db, Labels, Sample};

use crate::support::wire::{contents, db};

const LONG: Duration = Duration::from_secs(60);

/// A server in this process. It writes requests to a database, unless a reply is queued.
#[derive(Clone)]
struct Server(Arc<(Mutex<Inside>, Condvar)>);

struct Inside {
    db: Db,
    replies: VecDeque<SendError>,
    requests: usize,
    /// Blocks all requests while it is set.
    held: bool,
}

impl Server {
    fn new(replies: impl IntoIterator<Item = SendError>) -> Self {
        let replies = replies.into_iter().collect();
        let inside = Inside {
            db: db(),
            replies,
            requests: 0,
            held: false,
        };
        Self(Arc::new((Mutex::new(inside), Condvar::new())))
    }

    fn inside<T>(&self, look: impl FnOnce(&mut Inside) -> T) -> T {
        let (inside, changed) = &*self.0;
        let seen = look(&mut inside.lock().expect("the server"));
        changed.notify_all();
        seen
    }

    fn wait_until(&self, holds: impl Fn(&Inside) -> bool) {
        let (inside, changed) = &*self.0;
        let guard = inside.lock().expect("the server");
        drop(
            changed
                .wait_while(guard, |inside| !holds(inside))
                .expect("the server"),
        );
    }
}

impl Transport for Server {
    fn send(&mut self, body: &[u8]) -> Result<(), SendError> {
        self.inside(|inside| inside.requests += 1);
        self.wait_until(|inside| !inside.held);
        self.inside(|inside| match inside.replies.pop_front() {
            Some(error) => Err(error),
            None => {
                let ingested = write(&inside.db, body).expect("a request");
                assert!(ingested.errors.is_empty());
                Ok(())
            }
        })
    }
}

fn retry() -> SendError {
    SendError::Retry {
        reason: "503".into(),
        after: None,
    }
}

fn labels(name: &str) -> Labels {
    let none: [(&str, &str); 0] = [];
    Labels::new(name, none).expect("labels")
}

fn options() -> ForwarderOptions {
    ForwarderOptions {
        max_delay: Duration::ZERO,
        min_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
        ..ForwarderOptions::default()
    }
}

fn samples(range: std::ops::Range<i64>) -> Vec<Sample> {
    range.map(|time| Sample::new(time, time as f64)).collect()
}

#[test]
fn samples_arrive_in_order() {
    let server = Server::new([]);
    let options = ForwarderOptions {
        max_per_request: 7,
        ..options()
    };
    let forwarder = Forwarder::start(server.clone(), options).expect("a thread");
    for time in 0..100 {
        forwarder
            .offer(&labels("a"), &samples(time..time + 1))
            .expect("the queue has space");
        forwarder
            .offer(&labels("b"), &samples(time..time + 1))
            .expect("the queue has space");
    }
    let stats = forwarder.close(LONG);
    assert_eq!((stats.sent, stats.queued, stats.rejected), (200, 0, 0));
    let line: String = (0..100).map(|time| format!(" {time}:{time}")).collect();
    assert_eq!(
        server.inside(|inside| contents(&inside.db)),
        [format!("a{line}"), format!("b{line}")]
    );
}

#[test]
fn failed_request_is_retried_until_accepted() {
    let after = Some(Duration::from_millis(3));
    let server = Server::new([
        retry(),
        SendError::Retry {
            reason: "429".into(),
            after,
        },
        retry(),
    ]);
    let forwarder = Forwarder::start(server.clone(), options()).expect("a thread");
    forwarder
        .offer(&labels("a"), &samples(0..3))
        .expect("the queue has space");
    let stats = forwarder.close(LONG);
    assert_eq!((stats.sent, stats.retries, stats.rejected), (3, 3, 0));
    assert_eq!(stats.last_error, Some(retry()));
    assert_eq!(
        server.inside(|inside| contents(&inside.db)),
        ["a 0:0 1:1 2:2"]
    );
}

#[test]
fn rejected_request_is_dropped_and_next_is_sent() {
    let rejected = SendError::Rejected {
        reason: "400".into(),
        divisible: true,
    };
    let server = Server::new([rejected.clone()]);
    let options = ForwarderOptions {
        max_per_request: 2,
        ..options()
    };
    let forwarder = Forwarder::start(server.clone(), options).expect("a thread");
    forwarder
        .offer(&labels("a"), &samples(0..4))
        .expect("the queue has space");
    let stats = forwarder.close(LONG);
    assert_eq!((stats.sent, stats.rejected, stats.retries), (2, 2, 0));
    assert_eq!(stats.last_error, Some(rejected));
    assert_eq!(server.inside(|inside| contents(&inside.db)), ["a 2:2 3:3"]);
}

#[test]
fn full_queue_refuses_whole_offer() {
    let server = Server::new([]);
    server.inside(|inside| inside.held = true);
    let options = ForwarderOptions {
        max_queued: 10,
        max_per_request: 4,
        ..options()
    };
    let forwarder = Forwarder::start(server.clone(), options).expect("a thread");
    forwarder
        .offer(&labels("a"), &samples(0..8))
        .expect("the queue has space");
    server.wait_until(|inside| inside.requests == 1);
    // Samples being sent still take space, because they may have to be sent again.
    let full = forwarder
        .offer(&labels("a"), &samples(8..11))
        .expect_err("the queue is full");
    assert_eq!(full, QueueFull { max: 10, queued: 8 });
    forwarder
        .offer(&labels("a"), &samples(8..10))
        .expect("the queue has space");
    assert_eq!(
        (forwarder.stats().queued, forwarder.stats().refused),
        (10, 3)
    );
    server.inside(|inside| inside.held = false);
    let stats = forwarder.close(LONG);
    assert_eq!((stats.sent, stats.queued), (10, 0));
}

#[test]
fn close_drops_unsent_samples_after_timeout() {
    let server = Server::new(std::iter::repeat_n(retry(), 10_000));
    let patient = ForwarderOptions {
        min_backoff: LONG,
        max_backoff: LONG,
        ..options()
    };
    let forwarder = Forwarder::start(server.clone(), patient).expect("a thread");
    forwarder
        .offer(&labels("a"), &samples(0..5))
        .expect("the queue has space");
    server.wait_until(|inside| inside.requests == 1);
    let stats = forwarder.close(Duration::from_millis(10));
    assert_eq!((stats.sent, stats.queued), (0, 5));
}

#[test]
fn request_waits_until_full() {
    let server = Server::new([]);
    let slow = ForwarderOptions {
        max_delay: LONG,
        max_per_request: 5,
        ..options()
    };
    let forwarder = Forwarder::start(server.clone(), slow).expect("a thread");
    for time in 0..12 {
        forwarder
            .offer(&labels("a"), &samples(time..time + 1))
            .expect("the queue has space");
    }
    server.wait_until(|inside| inside.requests == 2);
    assert_eq!(forwarder.close(LONG).sent, 12);
    assert_eq!(server.inside(|inside| inside.requests), 3);
}

#[test]
fn greatest_limits_never_expire() {
    let server = Server::new([]);
    let patient = ForwarderOptions {
        max_queued: usize::MAX,
        max_per_request: 5,
        max_delay: Duration::MAX,
        min_backoff: Duration::MAX,
        max_backoff: Duration::MAX,
    };
    let forwarder = Forwarder::start(server.clone(), patient).expect("a thread");
    forwarder
        .offer(&labels("a"), &samples(0..8))
        .expect("the queue has space");
    server.wait_until(|inside| inside.requests == 1);
    assert_eq!(forwarder.close(Duration::MAX).sent, 8);
}

#[test]
fn dropping_forwarder_ends_its_thread() {
    let server = Server::new(std::iter::repeat_n(retry(), 10_000));
    let forwarder = Forwarder::start(server.clone(), options()).expect("a thread");
    forwarder
        .offer(&labels("a"), &samples(0..5))
        .expect("the queue has space");
    server.wait_until(|inside| inside.requests > 0);
    drop(forwarder);
    // The thread held the only other reference.
    assert_eq!(Arc::strong_count(&server.0), 1);
}
