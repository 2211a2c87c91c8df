//! The time-series engine.

use peer_protocol::{Failure, SeriesPeer};
use tsdb::{Batch, Db, Durability, Error, Labels, Matcher, OpenOptions, Sample};

pub(crate) struct Store(Db);

pub(crate) fn open(folder: &str) -> Result<Store, Error> {
    let options = OpenOptions {
        durability: Durability::Commit,
        ..OpenOptions::default()
    };
    Db::open(folder, options).map(Store)
}

impl SeriesPeer for Store {
    type Series = Labels;
    type Buffers = Batch;

    fn series(&self, name: &str, labels: &[(&str, String)]) -> Result<Labels, Failure> {
        Labels::new(name, labels.iter().cloned()).map_err(Failure::other)
    }

    fn write(
        &self,
        batch: &mut Batch,
        series: &[Labels],
        time_ms: i64,
        values: &[f64],
    ) -> Result<(), Failure> {
        let samples = values.iter().map(|value| Sample::new(time_ms, *value));
        if let [labels] = series {
            let mut written = samples.map(|sample| self.0.append(labels, sample));
            return written.try_for_each(|written| written.map_err(Failure::other));
        }
        for (labels, sample) in series.iter().zip(samples) {
            batch.push(labels, sample);
        }
        match self.0.write(batch).refused.into_iter().next() {
            Some(refused) => Err(Failure::other(refused.error)),
            None => Ok(()),
        }
    }

    fn read(&self, series: &Labels, from_ms: i64, to_ms: i64) -> Result<u64, Failure> {
        let matchers: Vec<_> = series
            .iter()
            .map(|label| Matcher::equal(label.name, label.value))
            .collect();
        let (found, mut samples) = (self.0.select(&matchers, from_ms, to_ms), Vec::new());
        for series in found.iter() {
            series.collect_into(&mut samples);
        }
        Ok(samples.len() as u64)
    }
}
