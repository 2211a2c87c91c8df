//! The figures of the published page as printed, in the order of its tables.

use crate::report::{PublishedKey, PublishedText};

const MACHINE: &str = "Apple M1 Pro, PostgreSQL in Docker, June 2025";

const fn row(
    operation: &'static str,
    events: u64,
    figures: &'static str,
) -> (PublishedKey, &'static str) {
    let key = PublishedKey {
        operation,
        dataset: "Small",
        concurrency: 1,
        events,
    };
    (key, figures)
}

/// Append.
pub(super) const APPEND: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        row("Append", 1, "1.69ms, ~592 events/sec, 2.2KB, 50 allocs/op"),
        row("Append", 10, "5.00ms, ~2,000 events/sec, 14.3KB, 320 allocs/op"),
        row("Append", 100, "48.61ms, ~2,057 events/sec, 132.8KB, 3,005 allocs/op"),
        row("Append", 1000, "459.87ms, ~2,175 events/sec, 1.3MB, 29,992 allocs/op"),
    ],
};

/// Reads of a few events.
pub(super) const READ: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        row("Simple Read", 1, "723μs, 4.4KB, 73 allocs/op"),
        row("Complex Read", 1, "963μs, 4.4KB, 73 allocs/op"),
        row("Stream Read", 1, "4.44ms, 7.0KB, 140 allocs/op"),
        row("Stream Channel", 1, "755μs, 16.6KB, 75 allocs/op"),
    ],
};

/// Projections of a few events.
pub(super) const PROJECTION: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        row("Projector 1", 1, "468μs, 2.0KB, 39 allocs/op"),
        row("Projector 5", 1, "858μs, 10.2KB, 151 allocs/op"),
        row("Channel 1", 1, "500μs, 32.8KB, 41 allocs/op"),
        row("Channel 5", 1, "916μs, 40.3KB, 150 allocs/op"),
    ],
};

/// Reads of most of the log.
pub(super) const MEMORY: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        row("MemoryRead", 1, "92.37ms, 569KB, 1,100,070 allocs/op"),
        row("MemoryStream", 1, "153.52ms, 46KB, 1,100,905 allocs/op"),
        row("MemoryProjection", 1, "1.69ms, 699 bytes, 1,730 allocs/op"),
    ],
};
