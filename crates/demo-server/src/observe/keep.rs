use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tsdb::{Batch, Db, Error, MatchOp, Matcher, Sample};

use super::measure::{Measured, descriptions};
use super::rates::Rates;
use crate::app::App;

const EVERY: Duration = Duration::from_secs(1);
/// Samples of the server's own are kept a day, so that they take little of the room for others'.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How often the older ones are deleted.
const FORGET_EVERY_S: i64 = 60 * 60;
/// The label by which the server's own series are known.
const JOB: &str = "registrar";

/// Writes the counters into the server's own series, until it stops.
pub(crate) async fn keep(app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    let db = &app.stores.series;
    let mut failing = Failing::default();
    for (metric, metadata) in descriptions() {
        if db.metadata(metric).as_ref() != Some(&metadata) {
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
    if !next().await {
        return;
    }
    let mut rates = Rates::start(&app);
    while next().await {
        // Whole seconds: times at a fixed step take next to no room.
        let second = since_epoch().as_secs_f64().round() as i64;
        let mut measured = Measured::with_job(JOB);
        measured.add_all(&app);
        rates.advance(&app, &mut measured);
        failing.note(write(db, &measured, second * 1000));
        if second % FORGET_EVERY_S == 0 {
            let db = db.clone();
            let forgotten = tokio::task::spawn_blocking(move || forget(&db, second * 1000));
            failing.note(forgotten.await.ok().and_then(Result::err));
        }
    }
}

/// Ticks when a second begins.
fn whole_seconds() -> tokio::time::Interval {
    let into = u64::from(since_epoch().subsec_nanos());
    let mut ticks = interval_at(Instant::now() + EVERY - Duration::from_nanos(into), EVERY);
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

/// Deletes the server's own samples that are older than they are kept.
fn forget(db: &Db, now_ms: i64) -> Result<(), Error> {
    let own = [
        Matcher::equal("job", JOB),
        Matcher::new(tsdb::METRIC_NAME, MatchOp::Matches, "registrar_.+")?,
    ];
    let kept_ms = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
    db.delete(&own, i64::MIN, now_ms - kept_ms - 1).map(drop)
}

/// Logs the first failure of a row.
#[derive(Debug, Default)]
struct Failing {
    is: bool,
}

impl Failing {
    fn note(&mut self, failed: Option<Error>) {
        match failed {
            Some(failed) if !self.is => {
                tracing::warn!(%failed, "the server's own measurements are not kept");
                self.is = true;
            }
            Some(_) => {}
            None => self.is = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use tsdb::{DbOptions, Labels};

    use super::*;

    #[test]
    fn only_the_servers_own_samples_are_forgotten() {
        let db = Db::new(DbOptions::default());
        let day_ms = i64::try_from(KEPT.as_millis()).expect("a day");
        let now_ms = 10 * day_ms;
        let mut measured = Measured::with_job(JOB);
        measured.add("registrar_series", &[], 1.0);
        for at in [now_ms - day_ms - 1, now_ms - day_ms, now_ms] {
            assert!(write(&db, &measured, at).is_none());
        }
        let others = [
            Labels::new("registrar_series", [("job", "elsewhere")]),
            Labels::new("cpu", [("job", JOB)]),
        ];
        for labels in others {
            db.append(&labels.expect("labels"), Sample::new(0, 1.0))
                .expect("accepted");
        }
        forget(&db, now_ms).expect("forgotten");
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
