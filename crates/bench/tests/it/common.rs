//! A toy page of two targets, in a temporary folder.
#![allow(dead_code, reason = "each test file uses a part")]

use bench::report::Page;
use bench::{
    BoxError, Environment, Error, Floor, Op, Outcome, Profile, Row, RunId, Settings, Storage,
    Target, TargetRun, measure,
};
use criterion::Criterion;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const TABLE: &str = "toy";

pub(crate) const PAGE: Page = Page {
    slug: "toy",
    targets: &["alpha", "beta"],
    text: "\
# Toys

{{head}}

{{seed toy: Operation | Throughput (ops/sec) | Allocations}}",
    published: "{}",
    parts: &[],
};

pub(crate) const FIRST: RunId = RunId {
    started: 1_795_222_140,
    process: 10,
};
pub(crate) const SECOND: RunId = RunId {
    started: 1_795_222_140,
    process: 11,
};

/// Temporary folders for runs and reports.
pub(crate) struct Folders {
    folder: TempDir,
}

impl Folders {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    pub(crate) fn reports(&self) -> PathBuf {
        self.folder.path().join("reports")
    }

    pub(crate) fn page(&self) -> Option<String> {
        std::fs::read_to_string(self.reports().join("toy.md")).ok()
    }

    pub(crate) fn settings(&self, run: RunId) -> Settings {
        Settings {
            profile: short(),
            runs: self.runs(),
            reports: self.reports(),
            run,
            environment: environment(),
            command: "cargo bench".to_owned(),
            partial: None,
            alone: None,
            workers: vec![2],
            pages: vec![PAGE],
            criterion: criterion(self.folder.path()),
        }
    }

    /// Measures a target with one row.
    pub(crate) fn measure(&self, target: &str, settings: Settings) -> Result<TargetRun, Error> {
        measure(target, settings, |t| declare(t, target))
    }
}

/// A fixed environment, because the real commit may change while the tests run.
pub(crate) fn environment() -> Environment {
    Environment {
        commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        dirty: false,
        cpu: "A processor".to_owned(),
        cores: 2,
        memory_bytes: 24 << 30,
        os: "An operating system 1".to_owned(),
        platform: ("linux".to_owned(), "amd64".to_owned()),
        rustc: "rustc 1.95.0".to_owned(),
        storage: Some(Storage {
            device: "a device".to_owned(),
            file_system: "ext4".to_owned(),
            flush_ns: 180_000.0,
        }),
    }
}

fn criterion(folder: &Path) -> Criterion {
    Criterion::default()
        .nresamples(2_000)
        .output_directory(&folder.join("criterion"))
}

fn short() -> Profile {
    Profile {
        name: "short".to_owned(),
        warm_up: Duration::from_millis(1),
        measurement: Duration::from_millis(20),
        samples: 10,
        allocation_time: Duration::from_millis(5),
        allocation_ops: 20,
        fills_pages: true,
    }
}

pub(crate) fn declare(target: &mut Target, name: &str) -> Result<(), BoxError> {
    target.facts().set("server", "none");
    let floor = Floor::new("yield", "one turn of the scheduler", &yielding());
    let row = Row::new(name, "none")
        .one_op("one allocation")
        .fills(TABLE)
        .floor(&floor);
    target.row(row, &allocating());
    Ok(())
}

/// Allocates 64 bytes once a call.
pub(crate) fn allocating() -> Op {
    Op::setup(|| async { Ok(()) }).call(|_, call| async move {
        std::hint::black_box(vec![call.index(); 8]);
        Ok(Outcome::Success)
    })
}

pub(crate) fn yielding() -> Op {
    Op::setup(|| async { Ok(()) }).call(|_, _| async {
        tokio::task::yield_now().await;
        Ok(Outcome::Success)
    })
}
