//! tsink, embedded: `peer-tsink FOLDER`.

use peer_protocol::{Failure, Hello, SeriesPeer, TimeSeries};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tsink::wal::WalSyncMode;
use tsink::{DataPoint, Label, Row, Storage, StorageBuilder, TimestampPrecision, TsinkError};

/// The samples of the dataset are years old.
const RETENTION: Duration = Duration::from_secs(100 * 365 * 86_400);

struct Tsink(Arc<dyn Storage>);

fn open(folder: &Path) -> Result<Tsink, TsinkError> {
    let storage = StorageBuilder::new()
        .with_data_path(folder.join("tsink"))
        .with_timestamp_precision(TimestampPrecision::Milliseconds)
        .with_retention(RETENTION)
        .with_wal_sync_mode(WalSyncMode::PerAppend)
        .build()?;
    Ok(Tsink(storage))
}

/// The name of a series, and its labels.
struct Series(String, Vec<Label>);

impl SeriesPeer for Tsink {
    type Series = Series;
    type Buffers = ();

    fn series(&self, name: &str, labels: &[(&str, String)]) -> Result<Series, Failure> {
        let labels = labels.iter().map(|(name, value)| Label::new(*name, value));
        Ok(Series(name.to_owned(), labels.collect()))
    }

    fn write(
        &self,
        (): &mut (),
        series: &[Series],
        time_ms: i64,
        values: &[f64],
    ) -> Result<(), Failure> {
        let rows = series
            .iter()
            .zip(values)
            .map(|(Series(name, labels), value)| {
                Row::with_labels(name, labels.clone(), DataPoint::new(time_ms, *value))
            });
        let rows: Vec<Row> = rows.collect();
        self.0.insert_rows(&rows).map_err(Failure::other)
    }

    fn read(&self, series: &Series, from_ms: i64, to_ms: i64) -> Result<u64, Failure> {
        let Series(name, labels) = series;
        // Its ranges exclude their end.
        let points = self.0.select(name, labels, from_ms, to_ms + 1);
        Ok(points.map_err(Failure::other)?.len() as u64)
    }
}

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_default();
    let hello = Hello::series("tsink", "0.10.2", "a write waits for the log's flush");
    peer_protocol::serve(hello, async {
        open(Path::new(&folder)).map(TimeSeries::new)
    })
}
