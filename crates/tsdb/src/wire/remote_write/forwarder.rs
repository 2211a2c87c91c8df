use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use group_commit::deadline_after;
use parking_lot::{Condvar, Mutex};

use super::queue::Queue;
use super::{QueueFull, SendError, Transport, encode};
use crate::{Labels, Sample};

/// The limits and delays of a [`Forwarder`].
#[derive(Clone, Debug)]
pub struct ForwarderOptions {
    /// Maximum number of queued samples. Default 1,000,000.
    pub max_queued: usize,
    /// Maximum number of samples in a request. Default 2,000.
    pub max_per_request: usize,
    /// Maximum time that samples wait for a request to fill. Default 5 seconds.
    pub max_delay: Duration,
    /// The pause before the first retry of a request. It doubles with each retry. Default 30 ms.
    pub min_backoff: Duration,
    /// The maximum pause, unless the server asks for a longer one. Default 5 seconds.
    pub max_backoff: Duration,
}

impl Default for ForwarderOptions {
    fn default() -> Self {
        Self {
            max_queued: 1_000_000,
            max_per_request: 2_000,
            max_delay: Duration::from_secs(5),
            min_backoff: Duration::from_millis(30),
            max_backoff: Duration::from_secs(5),
        }
    }
}

/// Counts of the samples offered to a [`Forwarder`], by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardStats {
    /// Samples that are queued or being sent.
    pub queued: usize,
    /// Samples that the other server accepted.
    pub sent: u64,
    /// Samples that the other server rejected. They are dropped.
    pub rejected: u64,
    /// Samples that were refused because the queue was full.
    pub refused: u64,
    /// Number of retries.
    pub retries: u64,
    /// The last error of the transport.
    pub last_error: Option<SendError>,
}

/// Forwards samples to another server, in order, from a background thread.
///
/// A request that fails temporarily is retried until it succeeds. Meanwhile the queue fills, and a
/// full queue refuses samples. Dropping the forwarder waits for the current request and drops the
/// queued samples; [`Self::close`] sends them.
#[derive(Debug)]
pub struct Forwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    options: ForwarderOptions,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    queue: Queue,
    stats: ForwardStats,
    /// The time at which the thread stops even if samples are queued. Set on close.
    stop_at: Option<Instant>,
}

impl Forwarder {
    /// Starts the thread.
    ///
    /// # Errors
    /// The operating system could not start a thread.
    pub fn start(transport: impl Transport, options: ForwarderOptions) -> io::Result<Self> {
        let queue = Queue::new(options.max_queued);
        let state = Mutex::new(State {
            queue,
            stats: ForwardStats::default(),
            stop_at: None,
        });
        let shared = Arc::new(Shared {
            options,
            state,
            changed: Condvar::new(),
        });
        let sender = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("tsdb-forwarder".into())
            .spawn(move || sender.run(transport))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Queues samples of a series, all or none. Never blocks.
    ///
    /// # Errors
    /// [`QueueFull`]: the queue has no space for all of the samples.
    pub fn offer(&self, labels: &Labels, samples: &[Sample]) -> Result<(), QueueFull> {
        let mut state = self.shared.state.lock();
        let pushed = state.queue.push(labels, samples);
        if pushed.is_err() {
            state.stats.refused += samples.len() as u64;
        }
        // Notifies without the lock, or the woken thread would block on it.
        drop(state);
        self.shared.changed.notify_one();
        pushed
    }

    /// The counts so far.
    pub fn stats(&self) -> ForwardStats {
        self.shared.stats()
    }

    /// Sends the queued samples and stops. Samples that are not sent within `timeout` are dropped,
    /// and the result counts them as queued. Waits for the current request even beyond `timeout`.
    pub fn close(mut self, timeout: Duration) -> ForwardStats {
        self.stop(timeout);
        self.shared.stats()
    }

    fn stop(&mut self, timeout: Duration) {
        // Taken, so that the drop after `close` does nothing.
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.shared.state.lock().stop_at = Some(deadline_after(Instant::now(), timeout));
        self.shared.changed.notify_one();
        // An error means that the transport panicked. Its samples still count as queued.
        let _ = thread.join();
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

impl Shared {
    fn stats(&self) -> ForwardStats {
        let state = self.state.lock();
        ForwardStats {
            queued: state.queue.len(),
            ..state.stats.clone()
        }
    }

    fn run(&self, mut transport: impl Transport) {
        while let Some(series) = self.next_request() {
            let count = series.iter().map(|(_, samples)| samples.len()).sum();
            let body = encode(
                series
                    .iter()
                    .map(|(labels, samples)| (labels, samples.as_slice())),
            );
            // The forwarder stops between two retries. The samples still count as queued.
            let Some(outcome) = self.send(&mut transport, &body) else {
                return;
            };
            self.record_outcome(count, outcome);
        }
    }

    /// Waits until a request is full or its samples have waited long enough, and returns its
    /// samples. `None` when it is time to stop.
    fn next_request(&self) -> Option<Vec<(Labels, Vec<Sample>)>> {
        // A limit of 0 would send nothing.
        let max = self.options.max_per_request.max(1);
        let mut state = self.state.lock();
        let mut send_at = None;
        loop {
            if state.must_stop() {
                return None;
            }
            let closing = state.stop_at.is_some();
            if state.queue.len() == 0 {
                if closing {
                    return None;
                }
                // No deadline yet: `max_delay` counts from the first sample.
                self.changed.wait(&mut state);
                continue;
            }
            let due = *send_at
                .get_or_insert_with(|| deadline_after(Instant::now(), self.options.max_delay));
            if closing || state.queue.len() >= max || Instant::now() >= due {
                return Some(state.queue.front(max));
            }
            self.changed.wait_until(&mut state, due);
        }
    }

    /// Sends a request until it is accepted or rejected. `None` when it is time to stop.
    fn send(&self, transport: &mut impl Transport, body: &[u8]) -> Option<Result<(), SendError>> {
        let mut backoff = self.options.min_backoff;
        loop {
            // This runs without the lock, because `offer` must not wait for a long request.
            let error = match transport.send(body) {
                Ok(()) => return Some(Ok(())),
                Err(error) => error,
            };
            let SendError::Retry { after, .. } = &error else {
                return Some(Err(error));
            };
            // The server can lengthen the pause, but not shorten it.
            let pause = backoff.max(after.unwrap_or_default());
            backoff = backoff.saturating_mul(2).min(self.options.max_backoff);
            let mut state = self.state.lock();
            state.stats.retries += 1;
            state.stats.last_error = Some(error);
            if !self.pause(&mut state, pause) {
                return None;
            }
        }
    }

    /// Waits, and returns whether to continue afterwards.
    fn pause(&self, state: &mut parking_lot::MutexGuard<'_, State>, pause: Duration) -> bool {
        let until = deadline_after(Instant::now(), pause);
        // `offer` notifies the same condition variable, so a wake-up alone means nothing.
        while Instant::now() < until && !state.must_stop() {
            let until = state.stop_at.map_or(until, |stop_at| until.min(stop_at));
            self.changed.wait_until(state, until);
        }
        !state.must_stop()
    }

    fn record_outcome(&self, count: usize, outcome: Result<(), SendError>) {
        let mut state = self.state.lock();
        state.queue.remove_front(count);
        match outcome {
            Ok(()) => state.stats.sent += count as u64,
            Err(error) => {
                state.stats.rejected += count as u64;
                state.stats.last_error = Some(error);
            }
        }
    }
}

impl State {
    fn must_stop(&self) -> bool {
        self.stop_at
            .is_some_and(|stop_at| Instant::now() >= stop_at)
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
