use super::chart::{Bar, Chart};
use super::view::View;
use crate::result::{Figures, RowResult};
use crate::row::Reading;

/// Charts of a table: the calls per second of both readings, and the latencies on the dataset.
pub(super) fn charts(view: &View<'_>, table: &str, name: &str, title: &str) -> Vec<Chart> {
    let rate = ["calls/s"];
    let latency = ["p50", "p99"];
    let calls: fn(&Figures) -> Vec<f64> = |figures| vec![figures.calls_per_second];
    let latencies: fn(&Figures) -> Vec<f64> =
        |figures| vec![figures.p50_ns as f64 / 1e3, figures.p99_ns as f64 / 1e3];
    let (seed, dataset) = (Reading::AsInTheSeed, Reading::OnTheDataset);
    let charts = [
        (
            "calls-seed",
            "calls/s, as in the seed",
            &rate[..],
            seed,
            calls,
        ),
        (
            "calls-dataset",
            "calls/s, on the dataset",
            &rate,
            dataset,
            calls,
        ),
        (
            "latency-dataset",
            "µs per call, on the dataset",
            &latency,
            dataset,
            latencies,
        ),
    ];
    let drawn = charts.map(|(kind, what, series, reading, values)| Chart {
        name: format!("{name}-{kind}"),
        title: format!("{title}: {what}"),
        series: series.iter().map(|name| (*name).to_owned()).collect(),
        bars: bars(view.table(table, reading), label, values),
    });
    drawn
        .into_iter()
        .filter(|chart| !chart.bars.is_empty())
        .collect()
}

/// The groups of a chart, one for each row with figures.
pub(crate) fn bars<'a>(
    rows: impl Iterator<Item = &'a RowResult>,
    label: fn(&RowResult) -> String,
    values: impl Fn(&Figures) -> Vec<f64>,
) -> Vec<Bar> {
    let measured = rows.filter_map(|row| Some((row, row.figures()?)));
    let bar = |(row, figures)| Bar {
        label: label(row),
        values: values(figures),
    };
    measured.map(bar).collect()
}

fn label(row: &RowResult) -> String {
    let declared = &row.declared;
    let mut label = declared.operation.clone();
    for part in [&declared.variant, &declared.server].into_iter().flatten() {
        label.push_str(&format!(" ({part})"));
    }
    format!(
        "{label} {} C{} E{}",
        declared.dataset, declared.concurrency, declared.events
    )
}
