use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::log_forwarder::{LogForwardStats, LogForwarderOptions, Shared};
use super::queue::by_series;
use super::{SendError, Transport, encode};
use crate::follow::{Batch, Unsent};
use crate::storage::StorageFailure;
use crate::{Labels, LogTail, Sample};

/// The time between two measurements of what is unsent.
const SURVEY_EVERY: Duration = Duration::from_secs(1);

/// How many times the parts of one request are divided because the server rejects them. This bounds the
/// additional requests to a server that rejects everything.
const MAX_DIVISIONS: usize = 64;

/// The thread of a log forwarder.
pub(super) struct Worker<T> {
    tail: LogTail,
    transport: T,
    options: LogForwarderOptions,
    shared: Arc<Shared>,
    unsent: Unsent,
    surveyed: Option<Instant>,
}

/// The end of a part of a batch.
enum Outcome {
    Sent,
    Rejected {
        divisible: bool,
    },
    /// A limit is exceeded.
    Dropped(Limit),
    /// The thread must stop.
    Stopped,
}

#[derive(Clone, Copy)]
enum Limit {
    Size,
    Age,
}

impl<T: Transport> Worker<T> {
    pub(super) fn new(
        mut tail: LogTail,
        transport: T,
        options: LogForwarderOptions,
        shared: Arc<Shared>,
    ) -> Self {
        tail.set_max_age(options.max_age);
        Self {
            tail,
            transport,
            options,
            shared,
            unsent: Unsent::default(),
            surveyed: None,
        }
    }

    pub(super) fn run(mut self) {
        while !self.shared.must_stop() && self.step().is_continue() {}
        // A failure only means that the last request is repeated after a restart.
        let _ = self.tail.rest();
        self.survey();
    }

    /// Sends the next samples, or waits for some.
    fn step(&mut self) -> ControlFlow<()> {
        // Asked before reading: what is written before the close is sent.
        let closing = self.shared.is_closing();
        // A limit of 0 would send nothing.
        let read = self.tail.next(self.options.max_per_request.max(1));
        let Some(batch) = self.note(read) else {
            return self.wait(false);
        };
        self.survey_if_due();
        if batch.is_empty() {
            let confirmed = self.tail.confirm(&batch).and_then(|()| self.tail.rest());
            self.note(confirmed);
            return match closing {
                true => ControlFlow::Break(()),
                false => self.wait(true),
            };
        }
        if self.deliver(&batch).is_break() {
            return ControlFlow::Break(());
        }
        let confirmed = self.tail.confirm(&batch);
        self.note(confirmed);
        ControlFlow::Continue(())
    }

    fn wait(&self, closes: bool) -> ControlFlow<()> {
        match self
            .shared
            .pause(Instant::now() + self.options.poll, closes)
        {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    /// Sends a batch, in parts if need be. Breaks if the thread must stop before the end.
    fn deliver(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.shared
            .count(|stats| stats.dropped_without_labels += batch.unknown);
        if let Some(limit) = self.exceeded() {
            self.drop_samples(batch.samples.len(), limit);
            return ControlFlow::Continue(());
        }
        let noted = self.tail.note_sending(batch);
        self.note(noted);
        // In order, so that a series never goes back in time.
        let mut parts = vec![batch.samples.as_slice()];
        let mut divisions = 0;
        while let Some(part) = parts.pop() {
            let count = part.len() as u64;
            match self.send(part) {
                Outcome::Sent => self.shared.count(|stats| stats.sent += count),
                Outcome::Rejected { divisible: true }
                    if part.len() > 1 && divisions < MAX_DIVISIONS =>
                {
                    divisions += 1;
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Outcome::Rejected { .. } => self.shared.count(|stats| stats.rejected += count),
                Outcome::Dropped(limit) => {
                    let rest: usize = parts.iter().map(|part| part.len()).sum();
                    self.drop_samples(part.len() + rest, limit);
                    break;
                }
                Outcome::Stopped => return ControlFlow::Break(()),
            }
        }
        ControlFlow::Continue(())
    }

    /// Sends samples until they are accepted or rejected.
    fn send(&mut self, samples: &[(Labels, Sample)]) -> Outcome {
        if samples.is_empty() {
            return Outcome::Sent;
        }
        let series = by_series(samples.iter());
        let body = encode(
            series
                .iter()
                .map(|(labels, samples)| (labels, samples.as_slice())),
        );
        let mut backoff = self.options.min_backoff;
        loop {
            let error = match self.transport.send(&body) {
                Ok(()) => return Outcome::Sent,
                Err(error) => error,
            };
            let pause = match &error {
                // The server can lengthen the pause, but not shorten it.
                SendError::Retry { after, .. } => Ok(backoff.max(after.unwrap_or_default())),
                SendError::Rejected { divisible, .. } => Err(*divisible),
            };
            self.shared.count(|stats| {
                stats.retries += u64::from(pause.is_ok());
                stats.last_error = Some(error);
            });
            let pause = match pause {
                Ok(pause) => pause,
                Err(divisible) => return Outcome::Rejected { divisible },
            };
            backoff = backoff.saturating_mul(2).min(self.options.max_backoff);
            if let Some(outcome) = self.pause(pause) {
                return outcome;
            }
        }
    }

    /// Waits before a retry. Returns an outcome if there must be none.
    fn pause(&mut self, pause: Duration) -> Option<Outcome> {
        let begun = Instant::now();
        loop {
            self.survey_if_due();
            if let Some(limit) = self.exceeded() {
                return Some(Outcome::Dropped(limit));
            }
            let rest = pause.saturating_sub(begun.elapsed());
            if rest.is_zero() {
                return None;
            }
            // In steps, because the limits may be exceeded in the meantime.
            if !self
                .shared
                .pause(Instant::now() + rest.min(SURVEY_EVERY), false)
            {
                return Some(Outcome::Stopped);
            }
        }
    }

    fn exceeded(&self) -> Option<Limit> {
        if self.unsent.bytes > self.options.max_unsent_bytes {
            return Some(Limit::Size);
        }
        (self.unsent.age > self.options.max_age).then_some(Limit::Age)
    }

    fn drop_samples(&mut self, count: usize, limit: Limit) {
        self.shared.count(|stats| match limit {
            Limit::Size => stats.dropped_for_size += count as u64,
            Limit::Age => stats.dropped_for_age += count as u64,
        });
        // The rest may be within the limits.
        self.surveyed = None;
    }

    fn survey_if_due(&mut self) {
        if self.surveyed.is_none_or(|at| at.elapsed() >= SURVEY_EVERY) {
            self.survey();
        }
    }

    fn survey(&mut self) {
        let now = Instant::now();
        let surveyed = self.tail.unsent(now);
        if let Some(unsent) = self.note(surveyed) {
            self.unsent = unsent;
        }
        self.surveyed = Some(now);
        let Unsent { bytes, age } = self.unsent;
        self.shared.count(|stats: &mut LogForwardStats| {
            (stats.unsent_bytes, stats.lag) = (bytes, age);
        });
    }

    /// Keeps a failure for the statistics. The next step tries again.
    fn note<V>(&self, result: Result<V, StorageFailure>) -> Option<V> {
        result
            .map_err(|failure| {
                self.shared
                    .count(|stats| stats.last_failure = Some(failure));
            })
            .ok()
    }
}
