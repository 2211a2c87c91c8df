use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::queue::Queue;
use super::{QueueFull, SendError, Transport, encode};
use crate::{Labels, Sample};

/// How a [`Forwarder`] queues and sends.
#[derive(Clone, Debug)]
pub struct ForwarderOptions {
    /// The most samples that wait. Default 1,000,000.
    pub max_queued: usize,
    /// The most samples of a request. Default 2,000.
    pub max_per_request: usize,
    /// How long samples wait for a request to fill. Default 5 seconds.
    pub max_delay: Duration,
    /// The pause before a request is sent again; doubled each time. Default 30 ms.
    pub min_backoff: Duration,
    /// The longest such pause, unless the server asks for a longer one. Default 5 seconds.
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

/// What became of the samples that a [`Forwarder`] was offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardStats {
    /// Samples that wait, or are being sent.
    pub queued: usize,
    /// Samples that the other server took.
    pub sent: u64,
    /// Samples that it rejected: they are given up.
    pub rejected: u64,
    /// Samples that were not taken because the queue was full.
    pub refused: u64,
    /// Requests that had to be sent again.
    pub retries: u64,
    /// The last error of the transport.
    pub last_error: Option<SendError>,
}

/// Sends samples on to another server, in order, from a thread of its own.
///
/// A request that fails for a time is sent again until it succeeds; meanwhile the queue fills, and
/// a full queue refuses samples. Dropping the forwarder gives up what is queued, after the request
/// under way: [`Self::close`] sends it.
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
    /// When to stop, whatever is queued: set by closing.
    stop_at: Option<Instant>,
}

impl Forwarder {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread to give.
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

    /// Queues samples of a series, all or none. Doesn't wait.
    ///
    /// # Errors
    /// [`QueueFull`].
    pub fn offer(&self, labels: &Labels, samples: &[Sample]) -> Result<(), QueueFull> {
        let mut state = self.shared.state.lock();
        let pushed = state.queue.push(labels, samples);
        if pushed.is_err() {
            state.stats.refused += samples.len() as u64;
        }
        drop(state);
        self.shared.changed.notify_one();
        pushed
    }

    /// What became of the samples so far.
    pub fn stats(&self) -> ForwardStats {
        self.shared.stats()
    }

    /// Sends what is queued and stops. What is not sent in time is given up, and counted as queued
    /// in the answer. A request under way is waited for.
    pub fn close(mut self, timeout: Duration) -> ForwardStats {
        self.stop(timeout);
        self.shared.stats()
    }

    fn stop(&mut self, timeout: Duration) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.shared.state.lock().stop_at = Some(after(timeout));
        self.shared.changed.notify_one();
        // A transport that panicked has ended the thread before: its samples stay queued.
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
            let Some(outcome) = self.send(&mut transport, &body) else {
                return;
            };
            self.settle(count, outcome);
        }
    }

    /// The samples of the next request, once there are enough or they have waited long enough;
    /// `None` when it is time to stop.
    fn next_request(&self) -> Option<Vec<(Labels, Vec<Sample>)>> {
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
                self.changed.wait(&mut state);
                continue;
            }
            let due = *send_at.get_or_insert_with(|| after(self.options.max_delay));
            if closing || state.queue.len() >= max || Instant::now() >= due {
                return Some(state.queue.front(max));
            }
            self.changed.wait_until(&mut state, due);
        }
    }

    /// Sends a request until it is taken or rejected; `None` when it is time to stop.
    fn send(&self, transport: &mut impl Transport, body: &[u8]) -> Option<Result<(), SendError>> {
        let mut backoff = self.options.min_backoff;
        loop {
            let error = match transport.send(body) {
                Ok(()) => return Some(Ok(())),
                Err(error) => error,
            };
            let SendError::Retry { after, .. } = &error else {
                return Some(Err(error));
            };
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

    /// Waits, and says whether to go on afterwards.
    fn pause(&self, state: &mut parking_lot::MutexGuard<'_, State>, pause: Duration) -> bool {
        let until = after(pause);
        while Instant::now() < until && !state.must_stop() {
            let until = state.stop_at.map_or(until, |stop_at| until.min(stop_at));
            self.changed.wait_until(state, until);
        }
        !state.must_stop()
    }

    fn settle(&self, count: usize, outcome: Result<(), SendError>) {
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

/// The time after so long; beyond what a clock can tell, in some thirty years.
fn after(pause: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(1_000_000_000);
    let now = Instant::now();
    now.checked_add(pause).unwrap_or_else(|| now + FAR)
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
