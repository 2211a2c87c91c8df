//! The metrics of a database, recorded through the `metrics` facade. README.md lists the names.
//!
//! Without the feature `metrics`, all of this is empty; see the crate `store-meter`.

use store_meter::{Counter, Histogram, Scope, Share, Timer};

use crate::{Deleted, WriteReport};

/// The handles of a database.
#[derive(Debug)]
pub(crate) struct Meters {
    written: Counter,
    refused: Counter,
    evicted_samples: Counter,
    evicted_series: Counter,
    failed_snapshots: Counter,
    log: LogMeters,
    scope: Scope,
}

/// Memory and series in use.
#[derive(Debug)]
pub(crate) struct UsageMeters {
    pub(crate) series: Share,
    pub(crate) sample_bytes: Share,
    pub(crate) index_bytes: Share,
    pub(crate) metadata_bytes: Share,
    pub(crate) repeated: Counter,
}

/// The writes of the log.
#[derive(Clone, Debug)]
pub(crate) struct LogMeters {
    bytes: Counter,
    sync: Histogram,
}

impl Meters {
    pub(crate) fn new() -> Self {
        let scope = Scope::new(cfg!(feature = "metrics"), "tsdb", &[]);
        Self {
            written: scope.counter("samples_written_total", "Samples that were accepted"),
            refused: scope.counter("samples_refused_total", "Samples that were refused"),
            evicted_samples: scope.counter(
                "samples_evicted_total",
                "Samples that retention deleted, by age or by memory",
            ),
            evicted_series: scope.counter(
                "series_evicted_total",
                "Series that ended because retention deleted their last sample",
            ),
            failed_snapshots: scope.counter(
                "snapshots_failed_total",
                "Snapshots of the log that could not be written",
            ),
            log: LogMeters {
                bytes: scope.counter("log_written_bytes_total", "Bytes written to the log"),
                sync: scope.seconds("sync_seconds", "Time of a sync of the log to the disk"),
            },
            scope,
        }
    }

    pub(crate) fn usage(&self) -> UsageMeters {
        let scope = &self.scope;
        let bytes = |part| {
            let help = "Memory of samples, of labels with their index, and of metadata";
            scope.with("part", part).gauge("memory_bytes", help).share()
        };
        UsageMeters {
            series: scope.gauge("series", "Series").share(),
            sample_bytes: bytes("samples"),
            index_bytes: bytes("index"),
            metadata_bytes: bytes("metadata"),
            repeated: scope.counter(
                "samples_repeated_total",
                "Samples whose series had one of the same time already",
            ),
        }
    }

    pub(crate) fn log(&self) -> LogMeters {
        self.log.clone()
    }

    /// A call has written samples of one series, all or none.
    #[inline]
    pub(crate) fn appended<E>(&self, samples: usize, result: &Result<(), E>) {
        match result {
            Ok(()) => self.written.add(samples as u64),
            Err(_) => self.refused.add(samples as u64),
        }
    }

    /// A batch has been written.
    pub(crate) fn wrote(&self, report: &WriteReport) {
        self.written.add(report.written as u64);
        self.refused.add(report.refused.len() as u64);
    }

    /// Retention has deleted these.
    pub(crate) fn evicted(&self, deleted: &Deleted) {
        self.evicted_samples.add(deleted.samples as u64);
        self.evicted_series.add(deleted.series as u64);
    }

    pub(crate) fn snapshot_failed(&self) {
        self.failed_snapshots.add(1);
    }
}

impl LogMeters {
    /// The log has grown.
    pub(crate) fn wrote(&self, bytes: usize) {
        self.bytes.add(bytes as u64);
    }

    /// Measures a sync.
    pub(crate) fn sync<T>(&self, sync: impl FnOnce() -> T) -> T {
        let begun = Timer::start();
        let synced = sync();
        self.sync.record_since(begun);
        synced
    }
}
