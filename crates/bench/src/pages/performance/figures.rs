//! The figures of the published page as printed, in the order of its tables.

use crate::report::{PublishedKey, PublishedText};

const MACHINE: &str = "Apple M1 Pro, PostgreSQL, July 2025";

const fn row(
    operation: &'static str,
    dataset: &'static str,
    events: u64,
    figures: &'static str,
) -> (PublishedKey, &'static str) {
    let key = PublishedKey {
        operation,
        dataset,
        concurrency: 1,
        events,
    };
    (key, figures)
}

const fn run(
    operation: &'static str,
    events: u64,
    figures: &'static str,
) -> (PublishedKey, &'static str) {
    let key = PublishedKey {
        operation,
        dataset: "PostgreSQL",
        concurrency: 100,
        events,
    };
    (key, figures)
}

/// The four load runs.
pub(super) const WEB_APP: PublishedText = PublishedText {
    machine: "Published (Apple M1 Pro, PostgreSQL, k6, July 2025)",
    rows: &[
        run("Append", 11, "~15,200 iterations, ~58 req/s, p99 6.2s, success 100%"),
        run("Append-If", 4, "~7,080 iterations, ~27 req/s, p99 6.3s, success 100%"),
        run("Read", 0, "~432,400 iterations, ~1,660 req/s, p99 5.7ms, success 100%"),
        run("Project", 0, "~174,300 iterations, ~670 req/s, p99 8.2ms, success 100%"),
    ],
};

/// Append and AppendIf.
pub(super) const APPEND: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        row("Append", "Small", 1, "939 ops/sec, 1.06ms, 1.9KB, 55"),
        row("Append", "Tiny", 1, "897 ops/sec, 1.11ms, 1.9KB, 55"),
        row("Append", "Small", 10, APPEND_10),
        row("Append", "Tiny", 10, APPEND_10),
        row("Append", "Small", 100, APPEND_100),
        row("Append", "Tiny", 100, APPEND_100),
        row("Append", "Small", 1000, APPEND_1000),
        row("Append", "Tiny", 1000, APPEND_1000),
        row("AppendIf", "Small", 10, APPEND_IF_10),
        row("AppendIf", "Tiny", 10, APPEND_IF_10),
        row("AppendIf", "Small", 100, APPEND_IF_100),
        row("AppendIf", "Tiny", 100, APPEND_IF_100),
    ],
};

const APPEND_10: &str = "787-594 ops/sec, 1.3-1.7ms, 18KB, 253-254";
const APPEND_100: &str = "282-270 ops/sec, 3.5-3.7ms, 179KB, 2,153-2,154";
const APPEND_1000: &str = "44-42 ops/sec, 22.3-23.9ms, 1.8MB, 21,807-21,815";
const APPEND_IF_10: &str = "4-4 ops/sec, 239-241ms, 20KB, 286";
const APPEND_IF_100: &str = "4-4 ops/sec, 239-241ms, 182KB, 2,181-2,182";

/// Reads.
pub(super) const READ: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        row("Simple Read", "Small", 1, SIMPLE),
        row("Simple Read", "Tiny", 1, SIMPLE),
        row("Complex Queries", "Small", 1, COMPLEX),
        row("Complex Queries", "Tiny", 1, COMPLEX),
        row("Channel Streaming", "Small", 1, CHANNEL),
        row("Channel Streaming", "Tiny", 1, CHANNEL),
    ],
};

const SIMPLE: &str = "2,789-2,680 ops/sec, 358-373μs, 1.4KB, 27";
const COMPLEX: &str = "2,630-2,576 ops/sec, 366-387μs, 1.4KB, 27";
const CHANNEL: &str = "2,515-2,470 ops/sec, 397-404μs, 108KB, 30";

/// Projections.
pub(super) const PROJECTION: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        row("Single Projection", "Small", 1, SINGLE),
        row("Single Projection", "Tiny", 1, SINGLE),
        row("Multiple Projections", "Small", 1, MULTIPLE),
        row("Multiple Projections", "Tiny", 1, MULTIPLE),
        row("Streaming Projections", "Small", 1, STREAMING),
        row("Streaming Projections", "Tiny", 1, STREAMING),
    ],
};

const SINGLE: &str = "2,755-2,800 ops/sec, 357-415μs, 1.5KB, 31";
const MULTIPLE: &str = "2,555-2,490 ops/sec, 394-401μs, 2.2KB, 46";
const STREAMING: &str = "2,400-2,560 ops/sec, 390-448μs, 10KB, 41-56";
