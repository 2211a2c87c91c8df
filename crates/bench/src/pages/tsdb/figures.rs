//! The figures of the published page as printed.

use super::ONE_SERIES;
use crate::report::{PublishedKey, PublishedText};

pub(super) const MACHINE: &str = "Intel i9-9900K, Windows, November 2025";

const fn key(operation: &'static str, concurrency: usize, events: u64) -> PublishedKey {
    PublishedKey {
        operation,
        dataset: ONE_SERIES,
        concurrency,
        events,
    }
}

pub(super) const WRITE: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        (key("Single Write", 1, 1), "5.3 µs, 190k writes/sec, 9 KB/op"),
        (key("Batch 10", 1, 10), "13.6 µs, 735k points/sec, 16 KB/op"),
        (key("Batch 100", 1, 100), "97.6 µs, 1M points/sec, 86 KB/op"),
        (key("Batch 1000", 1, 1_000), "938 µs, 1M points/sec, 760 KB/op"),
        (key("Concurrent Writes", 2, 1), "2.1 µs, 470k writes/sec, 8 KB/op"),
    ],
};

pub(super) const QUERY: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        (key("Small Range", 1, 100), "27 µs, 3.6k queries/sec"),
        (key("Medium Range", 1, 1_000), "213 µs, 4.7k queries/sec"),
        (key("Large Range", 1, 10_000), "2.47 ms, 400 queries/sec"),
        (key("Concurrent Queries", 2, 1_000), "94 µs, 10.5k queries/sec"),
    ],
};

const fn endpoint(operation: &'static str) -> PublishedKey {
    PublishedKey {
        operation,
        dataset: "none",
        concurrency: 1,
        events: 0,
    }
}

pub(super) const HTTP: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        (endpoint("/health"), "3.1 µs, 320k/sec"),
        (endpoint("/metrics"), "3.9 µs, 257k/sec"),
    ],
};

pub(super) const MEMORY: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        (key("Single Write", 1, 1), "54 allocs, 9 KB"),
        (key("Batch 100", 1, 100), "1340 allocs, 86 KB"),
        (key("Medium Range", 1, 1_000), "71 allocs, 93 KB"),
        (key("Concurrent Writes", 2, 1), "45 allocs, 8 KB"),
    ],
};

pub(super) const STRESS: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        (key("100k point query", 1, 100_000), "24 ms"),
        (key("1M point query", 1, 1_000_000), "288 ms"),
        (key("2M points in RAM", 1, 2_000_000), "815 ms"),
        (key("Batch 100k", 1, 100_000), "93 ms, 1M points/sec"),
        (key("Concurrent Writes 1000x", 1_000, 1), "2014 ns/op, ~500k writes/sec"),
    ],
};
