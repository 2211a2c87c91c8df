//! The engine, compared with a simple model: a sorted list per series.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tsdb::{Batch, Db, DbOptions, DuplicatePolicy, Labels, Matcher, Sample};

/// The samples of each series by time; samples with equal times are in order of arrival.
#[derive(Default)]
struct Model {
    series: BTreeMap<usize, Vec<Sample>>,
    policy: DuplicatePolicy,
    window: Option<u64>,
}

impl Model {
    /// Writes all samples, or none if one of them must be refused.
    fn write(&mut self, series: usize, samples: &[Sample]) -> bool {
        let mut after = self.series.get(&series).cloned().unwrap_or_default();
        for &sample in samples {
            let newest = after.iter().map(|other| other.timestamp_ms).max();
            let oldest = newest
                .zip(self.window)
                .map_or(i64::MIN, |(newest, window)| newest - window as i64);
            if sample.timestamp_ms < oldest || !insert(&mut after, sample, self.policy) {
                return false;
            }
        }
        self.series.insert(series, after);
        true
    }

    fn delete(&mut self, series: usize, from_ms: i64, to_ms: i64) {
        let Some(samples) = self.series.get_mut(&series) else {
            return;
        };
        samples.retain(|sample| !(from_ms..=to_ms).contains(&sample.timestamp_ms));
        if samples.is_empty() {
            self.series.remove(&series);
        }
    }
}

fn insert(samples: &mut Vec<Sample>, sample: Sample, policy: DuplicatePolicy) -> bool {
    let index = samples.partition_point(|other| other.timestamp_ms <= sample.timestamp_ms);
    let same = index > 0 && samples[index - 1].timestamp_ms == sample.timestamp_ms;
    match policy {
        DuplicatePolicy::LastWins if same => samples[index - 1] = sample,
        DuplicatePolicy::FirstWins if same => {}
        DuplicatePolicy::Reject if same => return false,
        _ => samples.insert(index, sample),
    }
    true
}

fn labels(series: usize) -> Labels {
    let (host, parity) = (series.to_string(), (series % 2).to_string());
    Labels::new("m", [("host", host), ("parity", parity)]).unwrap()
}

fn read(db: &Db, series: usize, from_ms: i64, to_ms: i64) -> Vec<Sample> {
    let mut samples = Vec::new();
    let host = Matcher::equal("host", series.to_string());
    for series in db.select(&[host], from_ms, to_ms).iter() {
        series.collect_into(&mut samples);
    }
    samples
}

/// Samples that are mostly in order, sometimes late or repeated, and sometimes very many.
fn samples(random: &mut StdRng, clock: &mut i64) -> Vec<Sample> {
    let count = match random.random_range(0..20) {
        0 => random.random_range(100..3000),
        1..5 => random.random_range(1..100),
        _ => 1,
    };
    // Many cases are single late samples, so that some wait for their block while others arrive.
    let late = random.random_bool(0.3);
    let mut sample = || {
        *clock += random.random_range(0..3);
        let back = match late {
            true => random.random_range(0..(*clock).clamp(1, 20_000)),
            false => 0,
        };
        let value = random.random_range(0..1000) as f64 / 10.0;
        Sample::new(*clock - back, value)
    };
    (0..count).map(|_| sample()).collect()
}

fn run(seed: u64, policy: DuplicatePolicy, window: Option<u64>, operations: usize) {
    println!("seed {seed}, {policy:?}, window {window:?}");
    let mut random = StdRng::seed_from_u64(seed);
    let db = Db::new(DbOptions {
        duplicates: policy,
        out_of_order_window_ms: window,
        ..DbOptions::default()
    });
    let mut model = Model {
        policy,
        window,
        ..Model::default()
    };
    let mut handles: Vec<_> = (0..8)
        .map(|series| db.series(&labels(series)).unwrap())
        .collect();
    let mut clock = 0;
    for _ in 0..operations {
        let series = random.random_range(0..8);
        match random.random_range(0..20) {
            0 => {
                let (a, b) = (
                    random.random_range(0..clock + 1),
                    random.random_range(0..clock + 1),
                );
                let (from_ms, to_ms) = match random.random_bool(0.1) {
                    true => (i64::MIN, i64::MAX),
                    false => (a.min(b), a.max(b)),
                };
                model.delete(series, from_ms, to_ms);
                let host = Matcher::equal("host", series.to_string());
                db.delete(&[host], from_ms, to_ms).unwrap();
            }
            1..4 => {
                let (a, b) = (
                    random.random_range(0..clock + 1),
                    random.random_range(0..clock + 1),
                );
                let (from_ms, to_ms) = (a.min(b), a.max(b));
                let all = model.series.get(&series).cloned().unwrap_or_default();
                let inside = |sample: &Sample| (from_ms..=to_ms).contains(&sample.timestamp_ms);
                let expected: Vec<Sample> = all.into_iter().filter(inside).collect();
                assert_eq!(read(&db, series, from_ms, to_ms), expected);
            }
            4..8 => {
                let mut batch = Batch::new();
                let mut expected = 0;
                let new = samples(&mut random, &mut clock);
                for (index, series) in [series, (series + 1) % 8].into_iter().enumerate() {
                    let part: Vec<_> = new.iter().skip(index).step_by(2).copied().collect();
                    if model.write(series, &part) && !part.is_empty() {
                        expected += part.len();
                    }
                }
                for (index, sample) in new.iter().enumerate() {
                    batch.push(&labels((series + index % 2) % 8), *sample);
                }
                let report = db.write(&mut batch);
                assert_eq!(report.written, expected);
                assert_eq!(report.written + report.refused.len(), new.len());
            }
            8..10 => {
                for _ in 0..random.random_range(1..400) {
                    let back = random.random_range(0..(clock.clamp(1, 3000)));
                    let sample = Sample::new(clock - back, random.random_range(0..100) as f64);
                    let accepted = handles[series].append(sample).is_ok();
                    assert_eq!(accepted, model.write(series, &[sample]));
                }
            }
            _ => {
                let new = samples(&mut random, &mut clock);
                let accepted = handles[series].append_batch(&new).is_ok();
                assert_eq!(accepted, model.write(series, &new));
            }
        }
        model.series.retain(|_, samples| !samples.is_empty());
        assert_eq!(db.series_count(), model.series.len());
    }
    for (series, samples) in &model.series {
        assert_eq!(&read(&db, *series, i64::MIN, i64::MAX), samples);
    }
    db.delete(&[], i64::MIN, i64::MAX).unwrap();
    assert_eq!(
        db.stats().total_bytes(),
        0,
        "deleted samples leave no byte behind"
    );
}

#[test]
fn random_operations_match_model() {
    let seed = rand::rng().random();
    for policy in [
        DuplicatePolicy::LastWins,
        DuplicatePolicy::FirstWins,
        DuplicatePolicy::KeepAll,
        DuplicatePolicy::Reject,
    ] {
        for window in [None, Some(0), Some(500)] {
            run(seed, policy, window, 300);
        }
    }
}
