use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use group_commit::deadline_after;
use parking_lot::{Condvar, Mutex};

use super::SendError;
use super::Transport;
use super::worker::Worker;
use crate::LogTail;
use crate::storage::StorageFailure;

/// The limits and delays of a [`LogForwarder`].
#[derive(Clone, Debug)]
pub struct LogForwarderOptions {
    /// Maximum number of samples in a request. Default 2,000.
    pub max_per_request: usize,
    /// Maximum size of the log that is not sent yet, in bytes. Above it, the oldest samples are
    /// dropped. Default 1 GiB.
    pub max_unsent_bytes: u64,
    /// Maximum time that samples wait, counted from their arrival or from the start of the process,
    /// whichever is later. Older ones are dropped. Default 24 hours.
    pub max_age: Duration,
    /// The time between two looks for new samples. Default 200 ms.
    pub poll: Duration,
    /// The pause before the first retry of a request. It doubles with each retry. Default 30 ms.
    pub min_backoff: Duration,
    /// The maximum pause, unless the server asks for a longer one. Default 5 seconds.
    pub max_backoff: Duration,
}

impl Default for LogForwarderOptions {
    fn default() -> Self {
        Self {
            max_per_request: 2_000,
            max_unsent_bytes: 1 << 30,
            max_age: Duration::from_secs(24 * 60 * 60),
            poll: Duration::from_millis(200),
            min_backoff: Duration::from_millis(30),
            max_backoff: Duration::from_secs(5),
        }
    }
}

/// Counts of the samples of a log since the start of its [`LogForwarder`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LogForwardStats {
    /// Samples that the other server accepted.
    pub sent: u64,
    /// Samples that the other server rejected.
    pub rejected: u64,
    /// Samples that the other server has from a request whose answer was lost, as far as its answers
    /// to a few of them tell. It rejected the repeated request.
    pub repeated: u64,
    /// Samples dropped because too many bytes waited.
    pub dropped_for_size: u64,
    /// Samples dropped because they had waited too long.
    pub dropped_for_age: u64,
    /// Samples dropped after a restart because their series was deleted before they were sent, and
    /// no file has its labels any more.
    pub dropped_without_labels: u64,
    /// Number of retries.
    pub retries: u64,
    /// Size of the log that is not sent yet, in bytes.
    pub unsent_bytes: u64,
    /// How long the oldest unsent sample has waited. Zero if all are sent.
    pub lag: Duration,
    /// The last error of the transport.
    pub last_error: Option<SendError>,
    /// The last failure to read the log or to store the position. Forwarding goes on.
    pub last_failure: Option<StorageFailure>,
}

/// Forwards the samples of a database's log to another server, in order, from a background thread.
///
/// The log is the queue: the thread has one request in memory. A request that fails temporarily is
/// retried until it succeeds or exceeds a limit. If the server rejects a request because of some of its
/// samples, smaller parts of it are tried, so that other samples get through. A sample is sent again
/// if the process ends before it notes the confirmation; the repeated request has the same samples.
/// Prometheus rejects such a request as a whole. A few samples of it then show whether the server has
/// it, so that the next request follows at once.
///
/// Deletions and metadata are not forwarded.
///
/// ```
/// use std::time::Duration;
/// use tsdb::wire::remote_write::{LogForwarder, LogForwarderOptions, SendError, Transport};
/// use tsdb::{DbOptions, Labels, LogTail, Sample};
///
/// struct Discard;
/// impl Transport for Discard {
///     fn send(&mut self, _body: &[u8]) -> Result<(), SendError> {
///         Ok(())
///     }
/// }
///
/// let (db, tail) = LogTail::in_memory(DbOptions::default())?;
/// let forwarder = LogForwarder::start(tail, Discard, LogForwarderOptions::default())?;
/// db.append(&Labels::new("cpu_load", [("host", "web-1")])?, Sample::new(0, 0.42))?;
/// assert_eq!(forwarder.close(Duration::from_secs(5)).sent, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LogForwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stats: LogForwardStats,
    /// The time at which the thread stops even if samples are unsent. Set on close.
    stop_at: Option<Instant>,
}

impl LogForwarder {
    /// Starts the thread.
    ///
    /// # Errors
    /// The operating system could not start a thread.
    pub fn start(
        tail: LogTail,
        transport: impl Transport,
        options: LogForwarderOptions,
    ) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let worker = Worker::new(tail, transport, options, Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("tsdb-forwarder".into())
            .spawn(move || worker.run())?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// The counts so far. The size and the age of what is unsent are up to a second old.
    pub fn stats(&self) -> LogForwardStats {
        self.shared.state.lock().stats.clone()
    }

    /// Sends what is in the log and stops. What is not sent within `timeout` stays in the log. Waits
    /// for the current request even beyond `timeout`.
    pub fn close(mut self, timeout: Duration) -> LogForwardStats {
        self.stop(timeout);
        self.stats()
    }

    fn stop(&mut self, timeout: Duration) {
        // Taken, so that the drop after `close` does nothing.
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.shared.state.lock().stop_at = Some(deadline_after(Instant::now(), timeout));
        self.shared.changed.notify_one();
        // An error means that the transport panicked. What it was sending stays in the log.
        let _ = thread.join();
    }
}

impl Drop for LogForwarder {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

impl Shared {
    pub(super) fn count(&self, change: impl FnOnce(&mut LogForwardStats)) {
        change(&mut self.state.lock().stats);
    }

    /// Whether the thread should stop once everything is sent.
    pub(super) fn is_closing(&self) -> bool {
        self.state.lock().stop_at.is_some()
    }

    pub(super) fn must_stop(&self) -> bool {
        self.state.lock().must_stop()
    }

    /// Waits, and returns whether to continue afterwards. Returns early while closing if `closes`.
    pub(super) fn pause(&self, until: Instant, closes: bool) -> bool {
        let mut state = self.state.lock();
        while Instant::now() < until && !state.must_stop() && !(closes && state.stop_at.is_some()) {
            let until = state.stop_at.map_or(until, |stop_at| until.min(stop_at));
            self.changed.wait_until(&mut state, until);
        }
        !state.must_stop()
    }
}

impl State {
    fn must_stop(&self) -> bool {
        self.stop_at
            .is_some_and(|stop_at| Instant::now() >= stop_at)
    }
}
