//! Forwarding from a log: to a receiver that fails, after restarts, and beyond the limits.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tsdb::wire::remote_write::{LogForwarder, LogForwarderOptions, SendError, Transport, write};
use tsdb::{Db, Durability, LogTail, OpenOptions, Sample};

use crate::support::wire::db;
use crate::support::{Disk, Dump, dump, labels, options};

mod limits;
mod outage;
mod restart;

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
    /// Requests are stored, but their answers are lost.
    answers_are_lost: bool,
    /// A request with a sample older than the newest of its series is rejected as a whole.
    needs_order: bool,
}

impl Receiver {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Inside {
            db: db(),
            bodies: Vec::new(),
            is_down: false,
            rejected_value: None,
            answers_are_lost: false,
            needs_order: false,
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
            if inside.needs_order && goes_back(&dump(&looked_at), &dump(&inside.db)) {
                return Err(SendError::Rejected {
                    reason: "out of order sample".into(),
                    divisible: true,
                });
            }
            let ingested = write(&inside.db, body).expect("a request");
            assert!(ingested.errors.is_empty());
            match inside.answers_are_lost {
                true => Err(SendError::Retry {
                    reason: "no answer".into(),
                    after: None,
                }),
                false => Ok(()),
            }
        })
    }
}

/// Whether a series of the request has a sample older than its newest one in the database.
fn goes_back(request: &Dump, stored: &Dump) -> bool {
    request.iter().any(|(series, samples)| {
        let newest = stored.get(series).and_then(|stored| stored.last());
        newest.is_some_and(|newest| samples.iter().any(|sample| sample.0 < newest.0))
    })
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
