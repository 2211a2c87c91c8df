use super::figures::{Latencies, LoadFigures};
use super::schedule::Schedule;
use crate::error::BoxError;
use crate::op::Outcome;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// The calls so far.
pub(super) struct Tally {
    seen: Mutex<Seen>,
}

struct Seen {
    /// The end of the turn's warm-up. Earlier calls are not counted.
    counts_from: Instant,
    /// The last answer of the turn.
    ended: Instant,
    /// The length of the turns before, without warm-ups.
    earlier_turns: Duration,
    /// Calls of the warm-ups.
    early: u64,
    service: Histogram<u64>,
    from_intended: Option<Histogram<u64>>,
    successes: u64,
    refused: u64,
    failed: u64,
    first_failure: Option<String>,
    paused: Duration,
}

/// One call and its times.
pub(super) struct Called {
    /// The intended start in an open schedule.
    pub(super) intended: Option<Instant>,
    pub(super) began: Instant,
    pub(super) ended: Instant,
    pub(super) outcome: Result<Outcome, BoxError>,
    /// The pause after it.
    pub(super) pause: Duration,
}

impl Tally {
    pub(super) fn new(schedule: &Schedule) -> Self {
        let is_open = matches!(schedule, Schedule::Open { .. });
        let now = Instant::now();
        Self {
            seen: Mutex::new(Seen {
                counts_from: now,
                ended: now,
                earlier_turns: Duration::ZERO,
                early: 0,
                service: histogram(),
                from_intended: is_open.then(histogram),
                successes: 0,
                refused: 0,
                failed: 0,
                first_failure: None,
                paused: Duration::ZERO,
            }),
        }
    }

    /// Begins a turn. It counts calls from the end of its warm-up.
    pub(super) fn begin_turn(&self, counts_from: Instant) {
        let mut seen = self.seen.lock();
        seen.earlier_turns = seen.elapsed();
        seen.counts_from = counts_from;
        seen.ended = counts_from;
    }

    pub(super) fn add(&self, called: Called) {
        let mut seen = self.seen.lock();
        // The call belongs to the warm-up.
        if called.began < seen.counts_from {
            seen.early += 1;
            return;
        }
        seen.service
            .saturating_record(ns(called.began, called.ended));
        if let (Some(histogram), Some(due)) = (&mut seen.from_intended, called.intended) {
            histogram.saturating_record(ns(due, called.ended));
        }
        match called.outcome {
            Ok(Outcome::Success) => seen.successes += 1,
            Ok(Outcome::Refused) => seen.refused += 1,
            Err(error) => seen.fail(&error.to_string()),
        }
        seen.paused += called.pause;
        seen.ended = seen.ended.max(called.ended);
    }

    /// Counts a call that was due but that no caller was free to make. It waited at least until
    /// `now`.
    pub(super) fn never_made(&self, due: Instant, now: Instant) {
        let mut seen = self.seen.lock();
        if let Some(histogram) = &mut seen.from_intended {
            histogram.saturating_record(ns(due, now));
        }
        seen.fail("no caller was free to make the call within twice the time");
        seen.ended = seen.ended.max(now);
    }

    /// `1,234 calls, p99 3.1 ms, 0 failed`.
    pub(super) fn line(&self) -> String {
        let seen = self.seen.lock();
        let latencies = seen.from_intended.as_ref().unwrap_or(&seen.service);
        format!(
            "{} calls, p99 {:.1} ms, {} failed",
            seen.calls(),
            latencies.value_at_quantile(0.99) as f64 / 1e6,
            seen.failed
        )
    }

    pub(super) fn figures(&self, schedule: &Schedule) -> LoadFigures {
        let seen = self.seen.lock();
        let elapsed = seen.elapsed();
        let elapsed = match schedule {
            // A ramp takes its whole length, even if no user makes a call near its end.
            Schedule::Users(ramp) => elapsed.max(ramp.length()),
            Schedule::Closed { .. } | Schedule::Open { .. } => elapsed,
        };
        let calls = seen.calls();
        LoadFigures {
            schedule: schedule.text(),
            // Never 0, because rates divide by it.
            elapsed_s: elapsed.as_secs_f64().max(1e-9),
            calls,
            successes: seen.successes,
            refused: seen.refused,
            failed: seen.failed,
            first_failure: seen.first_failure.clone(),
            allowed_per_second: match schedule {
                Schedule::Closed { .. } => None,
                Schedule::Open { per_second, .. } => Some(*per_second),
                Schedule::Users(ramp) => {
                    let pauses = ramp.user_time().as_secs_f64() / seen.paused.as_secs_f64();
                    let allowed = pauses * calls as f64 / elapsed.as_secs_f64();
                    // Without a pause the schedule sets no limit.
                    allowed.is_finite().then_some(allowed)
                }
            },
            service: latencies(&seen.service),
            from_intended: seen.from_intended.as_ref().map(latencies),
            cost: None,
        }
    }

    /// The number of calls of the warm-ups.
    pub(super) fn early_calls(&self) -> u64 {
        self.seen.lock().early
    }

    /// The number of all calls, including the warm-up.
    pub(super) fn all_calls(&self) -> u64 {
        let seen = self.seen.lock();
        seen.early + seen.calls()
    }
}

impl Seen {
    fn calls(&self) -> u64 {
        self.successes + self.refused + self.failed
    }

    /// The length of all turns, without warm-ups.
    fn elapsed(&self) -> Duration {
        self.earlier_turns + self.ended.saturating_duration_since(self.counts_from)
    }

    fn fail(&mut self, why: &str) {
        self.failed += 1;
        self.first_failure.get_or_insert_with(|| why.to_owned());
    }
}

fn ns(from: Instant, to: Instant) -> u64 {
    to.saturating_duration_since(from).as_nanos() as u64
}

fn histogram() -> Histogram<u64> {
    // Three significant digits, for times from a microsecond to ten minutes. No answer takes
    // longer, because it has a time limit.
    Histogram::new_with_bounds(1_000, 600_000_000_000, 3)
        .expect("three digits and ten minutes are within the histogram's limits")
}

fn latencies(histogram: &Histogram<u64>) -> Latencies {
    Latencies {
        mean_ns: histogram.mean(),
        p50_ns: histogram.value_at_quantile(0.5),
        p90_ns: histogram.value_at_quantile(0.9),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        max_ns: histogram.max(),
    }
}
