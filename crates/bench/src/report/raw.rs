use super::view::View;
use crate::result::{Figures, RowResult};
use std::fmt::Write;

/// All samples in Go's benchmark format, one line per sample, so that benchstat can compute an
/// interval.
pub(super) fn lines(view: &View<'_>) -> String {
    let environment = view.environment();
    let (os, arch) = &environment.platform;
    let mut text = format!("goos: {os}\ngoarch: {arch}\npkg: registrar/bench\n");
    text.push_str(&format!("cpu: {}\n", environment.cpu));
    for row in view.rows() {
        if let Some(figures) = row.figures() {
            push_samples(&mut text, row, figures);
        }
    }
    text
}

/// Rows in Go's benchmark format as a Markdown block: one line per row with the mean of its
/// samples. The page's raw file has all samples.
pub(super) fn raw_block<'a>(rows: impl Iterator<Item = &'a RowResult>) -> String {
    let mut text = String::from("```\n");
    for row in rows {
        if let Some(figures) = row.figures() {
            let ops = figures.samples.iter().map(|sample| sample.ops).sum();
            push_line(&mut text, row, figures, (ops, figures.mean_ns.value));
        }
    }
    text.push_str("```\n");
    text
}

fn push_samples(text: &mut String, row: &RowResult, figures: &Figures) {
    for sample in &figures.samples {
        push_line(text, row, figures, (sample.ops, sample.ns_per_op));
    }
}

fn push_line(text: &mut String, row: &RowResult, figures: &Figures, (ops, ns_per_op): (u64, f64)) {
    let bytes = figures.bytes_per_op.round();
    let allocations = figures.allocations_per_op.round();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "Benchmark{}-{}\t{ops}\t{ns_per_op:.1} ns/op\t{bytes} B/op\t{allocations} allocs/op",
        row.id, row.workers
    );
}
