use super::number::{significant, whole};
use super::table::Table;
use crate::result::RowResult;

/// Calls per second by number of worker threads, one line per row, with the ratio of the highest
/// number to the lowest.
pub fn scaling_table(rows: &[RowResult]) -> Table {
    let mut workers: Vec<usize> = rows.iter().map(|row| row.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    let mut columns = vec![("Row".to_owned(), false)];
    let heading = |workers: &usize| (format!("calls/s at {workers}"), true);
    columns.extend(workers.iter().map(heading));
    columns.push(("gain".to_owned(), true));
    let mut ids: Vec<&str> = Vec::new();
    for row in rows {
        if !ids.contains(&row.id.as_str()) {
            ids.push(&row.id);
        }
    }
    let lines = ids.into_iter().map(|id| line(rows, id, &workers));
    Table {
        columns,
        rows: lines.collect(),
    }
}

fn line(rows: &[RowResult], id: &str, workers: &[usize]) -> Vec<String> {
    let rate = |workers: usize| {
        let row = rows
            .iter()
            .find(|row| row.id == id && row.workers == workers);
        Some(row?.figures()?.calls_per_second)
    };
    let rates: Vec<Option<f64>> = workers.iter().map(|count| rate(*count)).collect();
    let shown = rates
        .iter()
        .map(|rate| rate.map_or("not measured".to_owned(), whole));
    let mut cells = vec![id.to_owned()];
    cells.extend(shown);
    cells.push(match (rates.first(), rates.last()) {
        (Some(Some(first)), Some(Some(last))) => significant(last / first) + "x",
        // The row has no figures for the lowest or the highest number of threads.
        _ => "not known".to_owned(),
    });
    cells
}
