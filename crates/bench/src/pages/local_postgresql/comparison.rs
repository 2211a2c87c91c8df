use super::{COMPARISON, figures, heading};
use crate::report::number::{significant, whole};
use crate::report::{Section, Table, View};
use crate::result::{Measured, RowResult};
use crate::row::Reading;

/// The table of both servers, for both readings.
pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    vec![
        heading(
            3,
            "Local PostgreSQL vs Docker PostgreSQL Performance Comparison",
        ),
        heading(4, "As in the seed"),
        Section::Table(table(view, Reading::AsInTheSeed)),
        heading(4, "On the dataset"),
        Section::Table(table(view, Reading::OnTheDataset)),
        Section::Text(
            "Calls per second of one caller, both servers measured in the same run. Performance \
             Gain is local divided by Docker. The published page has no figures for Docker."
                .to_owned(),
        ),
    ]
}

fn table(view: &View<'_>, reading: Reading) -> Table {
    let rows: Vec<&RowResult> = view.table(COMPARISON, reading).collect();
    let published = format!("Published, local ({})", figures::MACHINE);
    let headings = [
        "Operation",
        "Dataset",
        "Concurrency",
        "Local PostgreSQL",
        "Docker PostgreSQL",
        "Performance Gain",
        &published,
    ];
    let lines = figures::COMPARISON.iter().map(|(label, dataset, ops)| {
        let operation = label.trim_end_matches(" No Conflict");
        let row_on = |server: Option<&str>| {
            rows.iter().copied().find(|row| {
                let declared = &row.declared;
                declared.operation == operation
                    && declared.dataset == *dataset
                    && declared.concurrency == 1
                    && declared.server.as_deref() == server
            })
        };
        let (local, docker) = (row_on(None), row_on(Some("Docker")));
        vec![
            (*label).to_owned(),
            (*dataset).to_owned(),
            "1".to_owned(),
            rate(local),
            rate(docker),
            gain(local, docker),
            whole(*ops) + " ops/sec",
        ]
    });
    Table::of_text(&headings, lines.collect())
}

fn rate(row: Option<&RowResult>) -> String {
    match row.map(|row| &row.measured) {
        Some(Measured::Figures(figures)) => whole(figures.calls_per_second) + " ops/sec",
        Some(Measured::Load(load)) => whole(load.calls_per_second()) + " calls/s",
        Some(Measured::Not { reason }) => format!("not measured: {reason}"),
        None => "not measured: no benchmark has this row".to_owned(),
    }
}

fn gain(local: Option<&RowResult>, docker: Option<&RowResult>) -> String {
    match (
        local.and_then(RowResult::figures),
        docker.and_then(RowResult::figures),
    ) {
        (Some(local), Some(docker)) => {
            significant(local.calls_per_second / docker.calls_per_second) + "x"
        }
        _ => "not known: one side was not measured".to_owned(),
    }
}
