//! Helpers of all tests. Helpers for one area are in the area's module.

pub(crate) mod disk;
pub(crate) mod load;
#[cfg(feature = "promql")]
pub(crate) mod promql;
#[cfg(feature = "wire")]
pub(crate) mod wire;

use std::collections::BTreeMap;

use tsdb::{Db, DbOptions, DuplicatePolicy, Durability, Error, Labels, OpenOptions, Sample};

pub(crate) use disk::{Disk, Survivors};
pub(crate) use load::Load;

/// The contents of a database: the samples of each series, with values as bits.
pub(crate) type Dump = BTreeMap<String, Vec<(i64, u64)>>;

pub(crate) fn labels(host: usize) -> Labels {
    Labels::new(
        "cpu_usage",
        [("host", format!("host-{host}")), ("job", "node".to_owned())],
    )
    .expect("the labels are valid")
}

/// Options that keep duplicates, so that a sample restored twice shows.
pub(crate) fn options(durability: Durability) -> OpenOptions {
    OpenOptions {
        db: DbOptions {
            duplicates: DuplicatePolicy::KeepAll,
            ..DbOptions::default()
        },
        durability,
        snapshot_after_bytes: None,
        ..OpenOptions::default()
    }
}

pub(crate) fn open(disk: &Disk, options: &OpenOptions) -> Result<Db, Error> {
    Db::open_on(disk.clone(), options.clone(), |_| {})
}

pub(crate) fn dump(db: &Db) -> Dump {
    let mut dump = Dump::new();
    let mut samples = Vec::new();
    for series in db.select(&[], i64::MIN, i64::MAX).iter() {
        samples.clear();
        series.collect_into(&mut samples);
        let bits = |sample: &Sample| (sample.timestamp_ms, sample.value.to_bits());
        dump.insert(
            series.labels().to_string(),
            samples.iter().map(bits).collect(),
        );
    }
    dump
}

/// The names of a disk's segments, oldest first.
pub(crate) fn segments(disk: &Disk) -> Vec<String> {
    let mut names = disk.names();
    names.retain(|name| name.starts_with("log-"));
    names
}
