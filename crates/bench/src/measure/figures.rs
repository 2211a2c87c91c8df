use super::contest::Sample;
use super::statistics;
use crate::op::Observed;
use crate::result::{Figures, FloorFigures, SampleFigures};
use crate::row::Row;
use hdrhistogram::Histogram;

/// Computes the figures of a row from the samples of the timing pass and the one sample of the
/// allocation pass.
pub(super) fn figures(row: &Row, samples: &[Sample], allocations: &Sample) -> Figures {
    let row_ns = ns_per_op(samples, 0);
    let mean_ns = statistics::mean(&row_ns);
    let latencies_of_row = latencies(samples, 0);
    let (successes, refused) = outcomes(samples);
    let calls = (successes + refused).max(1) as f64;
    let floors = row.floors.iter().enumerate().map(|(i, floor)| {
        let floor_ns = ns_per_op(samples, i + 1);
        let ratios: Vec<f64> = row_ns
            .iter()
            .zip(&floor_ns)
            .map(|(row, floor)| row / floor)
            .collect();
        let counted = &allocations.sides[i + 1];
        let latencies = latencies(samples, i + 1);
        FloorFigures {
            name: floor.name.to_string(),
            what: floor.what.to_string(),
            concurrency: floor.concurrency,
            mean_ns: statistics::mean(&floor_ns),
            p50_ns: latencies.value_at_quantile(0.5),
            p99_ns: latencies.value_at_quantile(0.99),
            // The median, because a single slow fsync would dominate the mean of the ratios.
            ratio: statistics::median(&ratios),
            bytes_per_op: per_op(counted.allocated.bytes, counted),
            allocations_per_op: per_op(counted.allocated.allocations, counted),
        }
    });
    let counted = allocations.row();
    Figures {
        floors: floors.collect(),
        calls_per_second: row.declared.concurrency as f64 * 1e9 / mean_ns.value,
        mean_ns,
        p50_ns: latencies_of_row.value_at_quantile(0.5),
        p99_ns: latencies_of_row.value_at_quantile(0.99),
        ops_per_latency: samples.iter().map(|s| s.ops_per_latency).max().unwrap_or(1),
        success_rate: successes as f64 / calls,
        refused_rate: refused as f64 / calls,
        bytes_per_op: per_op(counted.allocated.bytes, counted),
        allocations_per_op: per_op(counted.allocated.allocations, counted),
        peak_bytes: counted.allocated.peak_bytes,
        samples: samples
            .iter()
            .map(|sample| sample_figures(sample.row()))
            .collect(),
    }
}

fn ns_per_op(samples: &[Sample], side: usize) -> Vec<f64> {
    samples
        .iter()
        .map(|sample| sample.sides[side].ns_per_op())
        .collect()
}

fn per_op(total: u64, seen: &Observed) -> f64 {
    total as f64 / seen.ops.max(1) as f64
}

fn outcomes(samples: &[Sample]) -> (u64, u64) {
    samples
        .iter()
        .map(Sample::row)
        .fold((0, 0), |(successes, refused), row| {
            (successes + row.successes, refused + row.refused)
        })
}

fn latencies(samples: &[Sample], side: usize) -> Histogram<u64> {
    // Three significant digits, for latencies up to an hour. No call takes longer.
    let mut histogram = Histogram::new_with_max(3_600_000_000_000, 3)
        .expect("three digits and an hour are within the histogram's limits");
    for latency_ns in samples
        .iter()
        .flat_map(|sample| &sample.sides[side].latencies_ns)
    {
        histogram.saturating_record(*latency_ns);
    }
    histogram
}

fn sample_figures(row: &Observed) -> SampleFigures {
    SampleFigures {
        ops: row.ops,
        ns_per_op: row.ns_per_op(),
    }
}
