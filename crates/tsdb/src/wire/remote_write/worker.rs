use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use group_commit::deadline_after;

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

/// How many samples of a rejected request are tried to find out whether the server has it already.
const PROBES: usize = 4;

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
#[derive(Clone, Copy)]
enum Outcome {
    Sent,
    Rejected {
        divisible: bool,
        /// An earlier request with the same samples had no answer, or that of a temporary failure.
        is_repeat: bool,
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
        let next = deadline_after(Instant::now(), self.options.poll);
        match self.shared.pause(next, closes) {
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
        match self.send(&batch.samples) {
            Outcome::Rejected {
                divisible: true,
                is_repeat,
            } => {
                if (is_repeat || batch.is_repeat) && self.has_arrived(&batch.samples) {
                    let count = batch.samples.len() as u64;
                    self.shared.count(|stats| stats.repeated += count);
                    return ControlFlow::Continue(());
                }
                // From here on, requests have other samples than the one that is noted.
                let rested = self.tail.rest();
                self.note(rested);
                self.deliver_in_parts(&batch.samples)
            }
            outcome => self.conclude(outcome, batch.samples.len()),
        }
    }

    /// Counts samples by their outcome. Breaks if the thread must stop.
    fn conclude(&mut self, outcome: Outcome, samples: usize) -> ControlFlow<()> {
        let count = samples as u64;
        match outcome {
            Outcome::Sent => self.shared.count(|stats| stats.sent += count),
            Outcome::Rejected { .. } => self.shared.count(|stats| stats.rejected += count),
            Outcome::Dropped(limit) => self.drop_samples(samples, limit),
            Outcome::Stopped => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// Sends the halves of a rejected request, and halves of those that are rejected too.
    fn deliver_in_parts(&mut self, samples: &[(Labels, Sample)]) -> ControlFlow<()> {
        // In order, so that a series never goes back in time.
        let mut parts = vec![samples];
        // The first part is known to be rejected.
        let mut rejected = true;
        let mut divisions = 0;
        while let Some(part) = parts.pop() {
            let outcome = match std::mem::take(&mut rejected) {
                true => Outcome::Rejected {
                    divisible: true,
                    is_repeat: false,
                },
                false => self.send(part),
            };
            match outcome {
                Outcome::Rejected {
                    divisible: true, ..
                } if part.len() > 1 && divisions < MAX_DIVISIONS => {
                    divisions += 1;
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Outcome::Dropped(limit) => {
                    let rest: usize = parts.iter().map(|part| part.len()).sum();
                    self.drop_samples(part.len() + rest, limit);
                    break;
                }
                outcome => self.conclude(outcome, part.len())?,
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether the server has the samples of a request that it rejects. Prometheus takes a request as
    /// a whole, and rejects it when it comes again, because its samples are not newer than themselves.
    /// The last sample of a series is an exception, so samples of several series that have later ones
    /// in the request are tried. If the server takes one, it did not have the request.
    fn has_arrived(&mut self, samples: &[(Labels, Sample)]) -> bool {
        let mut series = by_series(samples.iter());
        series.retain(|(_, samples)| samples.len() > 1);
        // A single series may have its own reason for the rejection.
        if series.len() < 2 {
            return false;
        }
        let step = series.len().div_ceil(PROBES);
        series.iter().step_by(step).all(|(labels, samples)| {
            let first = (labels.clone(), samples[0]);
            matches!(self.send(&[first]), Outcome::Rejected { .. })
        })
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
        let mut is_repeat = false;
        loop {
            // Also without a pause, or the lag would stand still during many requests.
            self.survey_if_due();
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
                Err(divisible) => {
                    return Outcome::Rejected {
                        divisible,
                        is_repeat,
                    };
                }
            };
            is_repeat = true;
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
