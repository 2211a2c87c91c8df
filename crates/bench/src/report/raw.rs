use super::view::View;
use crate::result::{Figures, RowResult};
use std::fmt::Write;

/// All samples in Go's benchmark format, one line a sample, so that benchstat has enough of them
/// to compute an interval.
pub(super) fn lines(view: &View<'_>) -> String {
    let environment = view.environment();
    let (os, arch) = &environment.platform;
    let mut text = format!("goos: {os}\ngoarch: {arch}\npkg: registrar/bench\n");
    text.push_str(&format!("cpu: {}\n", environment.cpu));
    for row in view.rows() {
        if let Some(figures) = row.figures() {
            push_samples(&mut text, row, figures, environment.cores);
        }
    }
    text
}

fn push_samples(text: &mut String, row: &RowResult, figures: &Figures, cores: usize) {
    let bytes = figures.bytes_per_op.round();
    let allocations = figures.allocations_per_op.round();
    for sample in &figures.samples {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "Benchmark{}-{cores}\t{}\t{:.1} ns/op\t{bytes} B/op\t{allocations} allocs/op",
            row.id, sample.ops, sample.ns_per_op
        );
    }
}
