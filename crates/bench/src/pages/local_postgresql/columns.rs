//! The columns of the published tables in their order, and our columns after them.

use crate::report::Column::{
    self, Allocations, BarrierOps, Concurrency, ConflictEvents, ConflictRate, Dataset, Events,
    EventsPerSecond, Interval, LatencyMs, LatencyNs, LimitExceededRate, MemoryBytes,
    MemoryKilobytes, Operation, P50, P99, PeakKilobytes, Published, SuccessRate, Throughput,
    TimesFloor,
};

pub(super) const WRITE_NS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Events"),
    Throughput,
    LatencyNs,
    MemoryBytes,
    Allocations,
];
pub(super) const READ_NS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Throughput,
    LatencyNs,
    MemoryBytes,
    Allocations,
];
pub(super) const WRITE_MS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Events"),
    Throughput,
    LatencyMs,
    MemoryKilobytes,
    Allocations,
];
pub(super) const APPEND_IF_MS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Batch Size"),
    Throughput,
    LatencyMs,
    MemoryKilobytes,
    Allocations,
];
pub(super) const CONFLICT_MS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Attempted Events"),
    ConflictEvents,
    Throughput,
    LatencyMs,
    MemoryKilobytes,
    Allocations,
];
pub(super) const LIMITS_MS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Events"),
    Throughput,
    LatencyMs,
    MemoryKilobytes,
    Allocations,
    SuccessRate,
    LimitExceededRate,
];

pub(super) const OURS: &[Column] = &[BarrierOps, Interval, P50, P99, TimesFloor, Published];
pub(super) const OURS_WRITING: &[Column] = &[
    EventsPerSecond,
    BarrierOps,
    Interval,
    P50,
    P99,
    TimesFloor,
    Published,
];
pub(super) const OURS_READING: &[Column] = &[
    PeakKilobytes,
    BarrierOps,
    Interval,
    P50,
    P99,
    TimesFloor,
    Published,
];
pub(super) const OURS_CONFLICT: &[Column] = &[
    ConflictRate,
    BarrierOps,
    Interval,
    P50,
    P99,
    TimesFloor,
    Published,
];
