use super::Detail;
use crate::report::{Bar, Chart, View};
use crate::result::{Figures, RowResult};
use crate::row::Reading;

/// Charts of the calls per second of both readings, and of the latencies on the dataset.
pub(super) fn charts(detail: &Detail, view: &View<'_>) -> Vec<Chart> {
    let Some(name) = detail.chart else {
        return Vec::new();
    };
    let seed: Vec<_> = view.table(detail.spec.id, Reading::AsInTheSeed).collect();
    let dataset: Vec<_> = view.table(detail.spec.id, Reading::OnTheDataset).collect();
    let chart = |kind: &str, what: &str, series: &[&str], bars| Chart {
        name: format!("{name}-{kind}"),
        title: format!("{}: {what}", detail.title),
        series: series.iter().map(|name| (*name).to_owned()).collect(),
        bars,
    };
    let rate = ["calls/s"];
    let charts = [
        chart(
            "calls-seed",
            "calls/s, as in the seed",
            &rate,
            bars(&seed, calls),
        ),
        chart(
            "calls-dataset",
            "calls/s, on the dataset",
            &rate,
            bars(&dataset, calls),
        ),
        chart(
            "latency-dataset",
            "µs per call, on the dataset",
            &["p50", "p99"],
            bars(&dataset, latencies),
        ),
    ];
    charts
        .into_iter()
        .filter(|chart| !chart.bars.is_empty())
        .collect()
}

fn calls(figures: &Figures) -> Vec<f64> {
    vec![figures.calls_per_second]
}

fn latencies(figures: &Figures) -> Vec<f64> {
    [figures.p50_ns, figures.p99_ns]
        .map(|ns| ns as f64 / 1e3)
        .to_vec()
}

fn bars(rows: &[&RowResult], values: impl Fn(&Figures) -> Vec<f64>) -> Vec<Bar> {
    let measured = rows.iter().filter_map(|row| Some((row, row.figures()?)));
    measured
        .map(|(row, figures)| Bar {
            label: label(row),
            values: values(figures),
        })
        .collect()
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
