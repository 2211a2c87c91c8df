//! Random writes, deletions and metadata.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tsdb::{Batch, Db, Matcher, Metadata, MetricKind, Sample};

use super::labels;

/// A random user of a database.
pub(crate) struct Load {
    random: StdRng,
    now_ms: i64,
    series: usize,
}

impl Load {
    pub(crate) fn new(seed: u64, series: usize) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            now_ms: 1_700_000_000_000,
            series,
        }
    }

    /// Runs a random operation and returns the number of samples that it wrote.
    pub(crate) fn step(&mut self, db: &Db) -> usize {
        match self.random.random_range(0..100) {
            0..50 => self.append(db),
            50..70 => self.append_batch(db),
            70..90 => self.write(db),
            90..95 => self.delete(db),
            _ => self.describe(db),
        }
    }

    pub(crate) fn steps(&mut self, db: &Db, steps: usize) -> usize {
        (0..steps).map(|_| self.step(db)).sum()
    }

    fn append(&mut self, db: &Db) -> usize {
        let host = self.random.random_range(0..self.series);
        let sample = self.sample();
        db.append(&labels(host), sample).expect("a write");
        1
    }

    fn append_batch(&mut self, db: &Db) -> usize {
        let host = self.random.random_range(0..self.series);
        let count = self.random.random_range(0..300);
        let samples: Vec<Sample> = (0..count).map(|_| self.sample()).collect();
        let mut series = db.series(&labels(host)).expect("a series");
        series.append_batch(&samples).expect("a batch");
        count
    }

    fn write(&mut self, db: &Db) -> usize {
        let mut batch = Batch::new();
        for _ in 0..self.random.random_range(0..50) {
            let host = self.random.random_range(0..self.series);
            batch.push(&labels(host), self.sample());
        }
        let report = db.write(&mut batch);
        assert!(report.refused.is_empty(), "{:?}", report.refused);
        report.written
    }

    fn delete(&mut self, db: &Db) -> usize {
        let host = self.random.random_range(0..self.series);
        let matcher = Matcher::equal("host", format!("host-{host}"));
        let all = self.random.random_bool(0.5);
        let from_ms = match all {
            true => i64::MIN,
            false => self.now_ms - self.random.random_range(0..100_000),
        };
        db.delete(&[matcher], from_ms, i64::MAX)
            .expect("a deletion");
        0
    }

    fn describe(&mut self, db: &Db) -> usize {
        let metadata = match self.random.random_ratio(1, 3) {
            true => Metadata::default(),
            false => Metadata {
                kind: MetricKind::Gauge,
                help: format!("said at {}", self.now_ms),
            },
        };
        db.set_metadata("cpu_usage", metadata).expect("metadata");
        0
    }

    /// A sample that is mostly later than the last, with a decimal, random or special value.
    fn sample(&mut self) -> Sample {
        let step = match self.random.random_range(0..10) {
            0 => -self.random.random_range(0..20_000),
            1..4 => self.random.random_range(0..20_000),
            _ => 1_000,
        };
        self.now_ms += step;
        let value = match self.random.random_range(0..20) {
            0 => f64::from_bits(self.random.random()),
            1 => -0.0,
            2 => tsdb::STALE_MARKER,
            3 => self.random.random(),
            _ => f64::from(self.random.random_range(-10_000..10_000)) / 100.0,
        };
        Sample::new(self.now_ms, value)
    }
}
