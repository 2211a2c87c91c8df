use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tsdb::{Batch, Db, Error, MatchOp, Matcher, Sample};

use super::measure::descriptions;
use super::measured::Measured;
use super::observed::Observed;
use super::rates::Rates;

const EVERY: Duration = Duration::from_secs(1);
/// Interval of writes while no counter changes. Each write costs a page of the disk and a sync,
/// however small it is.
const IDLE_EVERY_S: i64 = 15;
/// The server's own samples are kept for a day, so that they leave the memory to the clients'
/// series.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Interval of deleting older samples.
const FORGET_EVERY_S: i64 = 60 * 60;
/// The names of the server's own metrics and of those of its stores.
const OWN: &str = "(registrar|dcb|message_store|tsdb)_.+";
/// The value of the label `job` in the server's own series.
const JOB: &str = "registrar";

/// Writes the counters into the server's own series until the server stops: every second, and every
/// [`IDLE_EVERY_S`] while none of them changes.
pub(crate) async fn keep(observed: Arc<Observed>, mut stopped: watch::Receiver<bool>) {
    let db = &observed.stores.series;
    let mut failing = Failing::default();
    for (metric, metadata) in descriptions(&observed) {
        if db.metadata(&metric).as_ref() != Some(&metadata) {
            // Metadata is written to the log, so unchanged metadata is not set again.
            failing.note(db.set_metadata(&metric, metadata).err());
        }
    }
    let mut ticks = whole_seconds();
    let mut next = async || {
        tokio::select! {
            _ = ticks.tick() => true,
            _ = stopped.wait_for(|stopped| *stopped) => false,
        }
    };
    // The first tick reports nothing, because a rate needs the counters of the tick before.
    if !next().await {
        return;
    }
    let mut rates = Rates::start(&observed);
    let mut pace = Pace::default();
    while next().await {
        // Whole seconds: the engine stores times at a fixed step in almost no space.
        let second = since_epoch().as_secs_f64().round() as i64;
        let mut measured = Measured::with_job(JOB);
        measured.add_all(&observed);
        rates.advance(&observed, &mut measured);
        for (second, measured) in pace.due(second, measured) {
            failing.note(write(db, &measured, second * 1000));
        }
        if second % FORGET_EVERY_S == 0 {
            let db = db.clone();
            // Deleting visits many series, which takes too long for a thread that serves requests.
            let forgotten = tokio::task::spawn_blocking(move || forget(&db, second * 1000));
            failing.note(forgotten.await.ok().and_then(Result::err));
        }
    }
}

/// Decides which measurements are written.
#[derive(Debug, Default)]
struct Pace {
    /// The second of the last write.
    written_s: i64,
    /// The counters of the last tick.
    counters: Vec<f64>,
    /// Whether the counters of the last two ticks were equal.
    is_resting: bool,
    /// The measurement of the last tick, if it was not written.
    held: Option<(i64, Measured)>,
}

impl Pace {
    /// The measurements to write now, with their seconds: none while the counters rest. The first
    /// tick of a rest is written, because its rates are zero. The first one after a rest comes with
    /// the one before it, so that rates begin at the right second.
    fn due(&mut self, second: i64, measured: Measured) -> Vec<(i64, Measured)> {
        let counters: Vec<f64> = measured.counters().collect();
        let is_resting = counters == self.counters;
        self.counters = counters;
        let was_resting = std::mem::replace(&mut self.is_resting, is_resting);
        // The clock may have been set back.
        let is_recent = (0..IDLE_EVERY_S).contains(&(second - self.written_s));
        if was_resting && is_resting && is_recent {
            self.held = Some((second, measured));
            return Vec::new();
        }
        self.written_s = second;
        let held = self.held.take().filter(|_| !is_resting);
        held.into_iter().chain([(second, measured)]).collect()
    }
}

/// Ticks at the start of each second.
fn whole_seconds() -> tokio::time::Interval {
    let into = u64::from(since_epoch().subsec_nanos());
    let mut ticks = interval_at(Instant::now() + EVERY - Duration::from_nanos(into), EVERY);
    // A missed second stays empty. The other behaviors would no longer tick at whole seconds.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticks
}

fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn write(db: &Db, measured: &Measured, timestamp_ms: i64) -> Option<Error> {
    let mut batch = Batch::new();
    for (labels, value) in &measured.values {
        batch.push(labels, Sample::new(timestamp_ms, *value));
    }
    let refused = db.write(&mut batch).refused;
    refused.into_iter().next().map(|refused| refused.error)
}

/// Deletes those of the server's own samples that have become too old.
fn forget(db: &Db, now_ms: i64) -> Result<(), Error> {
    let own_series = [
        Matcher::equal("job", JOB),
        // Clients may use the same job name, so the metric's prefix must match too.
        Matcher::new(tsdb::METRIC_NAME, MatchOp::Matches, OWN)?,
    ];
    let kept_ms = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
    db.delete(&own_series, i64::MIN, now_ms - kept_ms - 1)
        .map(drop)
}

/// Logs the first of consecutive failures, so that a full disk does not fill the log as well.
#[derive(Debug, Default)]
struct Failing {
    failing: bool,
}

impl Failing {
    fn note(&mut self, failed: Option<Error>) {
        match failed {
            Some(failed) if !self.failing => {
                tracing::warn!(%failed, "could not store the server's own measurements");
                self.failing = true;
            }
            Some(_) => {}
            None => self.failing = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use tsdb::{DbOptions, Labels};

    use super::*;

    #[test]
    fn resting_counters_are_written_at_intervals_and_with_the_second_before_a_change() {
        let mut pace = Pace::default();
        let mut seconds = |range: std::ops::Range<i64>, count: f64| -> Vec<i64> {
            let due = range.flat_map(|second| {
                let mut measured = Measured::with_job(JOB);
                measured.add("dcb_appends_total", &[], count);
                measured.add("registrar_uptime_seconds", &[], second as f64);
                pace.due(second, measured)
            });
            due.map(|(second, _)| second).collect()
        };
        assert_eq!(seconds(100..140, 1.0), [100, 101, 116, 131]);
        assert_eq!(seconds(140..141, 2.0), [139, 140]);
        assert_eq!(seconds(141..142, 3.0), [141]);
        assert_eq!(seconds(142..160, 3.0), [142, 157]);
    }

    #[test]
    fn only_old_samples_of_the_server_are_deleted() {
        let db = Db::new(DbOptions::default());
        let day_ms = i64::try_from(KEPT.as_millis()).expect("a day fits into i64");
        let now_ms = 10 * day_ms;
        let mut measured = Measured::with_job(JOB);
        measured.add("registrar_series", &[], 1.0);
        for timestamp_ms in [now_ms - day_ms - 1, now_ms - day_ms, now_ms] {
            assert!(write(&db, &measured, timestamp_ms).is_none());
        }
        let others = [
            Labels::new("registrar_series", [("job", "elsewhere")]),
            Labels::new("cpu", [("job", JOB)]),
        ];
        for labels in others {
            db.append(&labels.expect("the labels are valid"), Sample::new(0, 1.0))
                .expect("the sample is accepted");
        }
        forget(&db, now_ms).expect("the samples are deleted");
        let count = |labels: &Labels| {
            let matchers = labels
                .iter()
                .map(|label| Matcher::equal(label.name, label.value));
            let found = db.select(&matchers.collect::<Vec<_>>(), i64::MIN, i64::MAX);
            let mut samples = Vec::new();
            found
                .iter()
                .for_each(|series| series.collect_into(&mut samples));
            samples.len()
        };
        assert_eq!(count(&measured.values[0].0), 2);
        assert_eq!(db.series_count(), 3);
    }
}
