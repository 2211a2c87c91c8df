use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tsdb::{Batch, Db, Error, MatchOp, Matcher, Sample};

use super::measure::{Measured, descriptions};
use super::observed::Observed;
use super::rates::Rates;

const EVERY: Duration = Duration::from_secs(1);
/// The server's own samples are kept for a day, so that they leave the memory to the clients'
/// series.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Interval of deleting older samples.
const FORGET_EVERY_S: i64 = 60 * 60;
/// The value of the label `job` in the server's own series.
const JOB: &str = "registrar";

/// Writes the counters into the server's own series every second, until the server stops.
pub(crate) async fn keep(observed: Arc<Observed>, mut stopped: watch::Receiver<bool>) {
    let db = &observed.stores.series;
    let mut failing = Failing::default();
    for (metric, metadata) in descriptions() {
        if db.metadata(metric).as_ref() != Some(&metadata) {
            // Metadata is written to the log, so unchanged metadata is not set again.
            failing.note(db.set_metadata(metric, metadata).err());
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
    while next().await {
        // Whole seconds: the engine stores times at a fixed step in almost no space.
        let second = since_epoch().as_secs_f64().round() as i64;
        let mut measured = Measured::with_job(JOB);
        measured.add_all(&observed);
        rates.advance(&observed, &mut measured);
        failing.note(write(db, &measured, second * 1000));
        if second % FORGET_EVERY_S == 0 {
            let db = db.clone();
            // Deleting visits many series, which takes too long for a thread that serves requests.
            let forgotten = tokio::task::spawn_blocking(move || forget(&db, second * 1000));
            failing.note(forgotten.await.ok().and_then(Result::err));
        }
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
        Matcher::new(tsdb::METRIC_NAME, MatchOp::Matches, "registrar_.+")?,
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
