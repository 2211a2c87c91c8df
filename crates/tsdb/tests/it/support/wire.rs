//! Helpers of the tests of all formats.

use tsdb::wire::Ingested;
use tsdb::{Db, DbOptions, DuplicatePolicy};

/// An empty database that keeps duplicates.
pub(crate) fn db() -> Db {
    Db::new(DbOptions {
        duplicates: DuplicatePolicy::KeepAll,
        ..DbOptions::default()
    })
}

/// Everything in a database: `labels timestamp:value …` for each series, sorted.
pub(crate) fn contents(db: &Db) -> Vec<String> {
    let mut lines: Vec<String> = db
        .select(&[], i64::MIN, i64::MAX)
        .iter()
        .map(|series| {
            let mut samples = Vec::new();
            series.collect_into(&mut samples);
            let samples: String = samples
                .iter()
                .map(|sample| format!(" {}:{}", sample.timestamp_ms, sample.value))
                .collect();
            format!("{}{samples}", series.labels())
        })
        .collect();
    lines.sort();
    lines
}

/// The errors of a body: `index: reason`.
pub(crate) fn errors(ingested: &Ingested) -> Vec<String> {
    let line = |error: &tsdb::wire::PointError| format!("{}: {}", error.index, error.fault);
    ingested.errors.iter().map(line).collect()
}
