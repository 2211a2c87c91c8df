use super::column::Column;
use super::published::{Published, PublishedEntry};
use super::view::View;
use crate::result::{Measured, RowResult};
use crate::row::{Reading, TableId};

/// A table of text, ready to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The headings, each with true if its cells are aligned to the right.
    pub columns: Vec<(String, bool)>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with all cells aligned to the left.
    pub fn of_text(headings: &[&str], rows: Vec<Vec<String>>) -> Self {
        let columns = headings
            .iter()
            .map(|heading| ((*heading).to_owned(), false))
            .collect();
        Self { columns, rows }
    }

    /// The table as Markdown.
    pub fn markdown(&self) -> String {
        let headings: Vec<&str> = self.columns.iter().map(|column| &*column.0).collect();
        let rules = self
            .columns
            .iter()
            .map(|column| if column.1 { "---:" } else { "---" });
        let mut text = line(&headings);
        text += &line(&rules.collect::<Vec<_>>());
        for row in &self.rows {
            text += &line(&row.iter().map(|text| cell(text)).collect::<Vec<_>>());
        }
        text
    }
}

/// A text as a cell: on one line, and without an unescaped bar, which would end the cell.
fn cell(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join(" ").replace('|', "\\|")
}

fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// A table of measured rows: its columns, and its published counterpart.
#[derive(Debug, Clone, Copy)]
pub struct TableSpec {
    /// The name under which rows fill it.
    pub id: TableId,
    /// The published columns in order.
    pub columns: &'static [Column],
    /// Our columns, after the published ones.
    pub ours: &'static [Column],
    /// The published figures. They set the order of the rows.
    pub published: Published,
}

impl TableSpec {
    /// The table: first the rows with a published counterpart in published order, then the others.
    pub fn table(&self, view: &View<'_>, reading: Reading) -> Table {
        let rows: Vec<&RowResult> = view.table(self.id, reading).collect();
        let published = self.published.entries();
        let mut cells = Vec::new();
        for printed in &published {
            let same: Vec<_> = rows.iter().filter(|row| printed.key.is_of(row)).collect();
            // The published row stays visible, with the reason why it has no figures.
            if same.is_empty() {
                cells.push(self.absent(printed));
            }
            for (index, row) in same.into_iter().enumerate() {
                // Variants of one published row follow it. Its figures are printed once.
                cells.push(self.row(row, (index == 0).then_some(printed)));
            }
        }
        let others = rows
            .iter()
            .filter(|row| !published.iter().any(|printed| printed.key.is_of(row)));
        cells.extend(others.map(|row| self.row(row, None)));
        Table {
            columns: self.headings(),
            rows: cells,
        }
    }

    /// One op of each row in words, each text once.
    pub fn ops(&self, view: &View<'_>, reading: Reading) -> String {
        let mut lines: Vec<String> = Vec::new();
        for row in view.table(self.id, reading) {
            let operation = Column::Operation.declared(row).unwrap_or_default();
            let line = format!("- **{operation}**: {}\n", row.declared.one_op);
            if !row.declared.one_op.is_empty() && !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.concat()
    }

    fn all_columns(&self) -> impl Iterator<Item = Column> {
        self.columns.iter().chain(self.ours).copied()
    }

    fn headings(&self) -> Vec<(String, bool)> {
        let heading =
            |column: Column| (column.heading(self.published.machine()), column.is_number());
        self.all_columns().map(heading).collect()
    }

    fn row(&self, row: &RowResult, printed: Option<&PublishedEntry>) -> Vec<String> {
        let published = || printed.map_or("none".to_owned(), |row| row.figures.clone());
        let cell = |column: Column| match (column, &row.measured) {
            (Column::Published, _) => published(),
            (_, Measured::Figures(figures)) => column
                .declared(row)
                .unwrap_or_else(|| column.figure(row, figures)),
            (_, Measured::Load(_)) => column.declared(row).unwrap_or_else(|| {
                self.reason(column, "a load, which needs another kind of table")
            }),
            (_, Measured::Not { reason }) => column
                .declared(row)
                .unwrap_or_else(|| self.reason(column, reason)),
        };
        self.all_columns().map(cell).collect()
    }

    /// The line of a published row that the run lacks.
    fn absent(&self, printed: &PublishedEntry) -> Vec<String> {
        let key = printed.key;
        let cell = |column: Column| match column {
            Column::Operation => key.operation.to_owned(),
            Column::Dataset => key.dataset.to_owned(),
            Column::Concurrency => key.concurrency.to_string(),
            Column::Events(_) => key.events.to_string(),
            Column::Published => printed.figures.clone(),
            _ => self.reason(column, "no benchmark has this row"),
        };
        self.all_columns().map(cell).collect()
    }

    /// Puts the reason into the first column of figures; the other columns stay empty.
    fn reason(&self, column: Column, reason: &str) -> String {
        if self.all_columns().find(|column| column.is_figure()) == Some(column) {
            format!("not measured: {reason}")
        } else {
            String::new()
        }
    }
}
