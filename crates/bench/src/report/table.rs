use super::column::{Cell, Column, operation};
use super::goals::share_of_other_row;
use super::number::significant;
use super::published::{PublishedRow, PublishedTable};
use super::view::View;
use crate::result::{Measured, RowResult};
use crate::row::{Reading, Row};

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

/// A table of measured rows.
pub(super) struct MeasuredTable<'a> {
    /// The name under which rows fill it.
    pub(super) name: &'a str,
    pub(super) columns: Vec<Column>,
    /// Its published counterpart, which sets the order of the rows.
    pub(super) published: Option<&'a PublishedTable>,
}

impl MeasuredTable<'_> {
    /// The table: first the rows with a published counterpart in published order, then the others.
    pub(super) fn table(&self, view: &View<'_>, reading: Reading) -> Table {
        let rows: Vec<&RowResult> = view.table(self.name, reading).collect();
        let published = self.published.map_or(&[][..], |table| &table.rows);
        let mut lines = Vec::new();
        for printed in published {
            let same: Vec<_> = rows.iter().filter(|row| printed.is_of(row)).collect();
            // The published row stays visible, with the reason why it has no figures.
            if same.is_empty() {
                lines.push(self.line(view, &absent(printed), Some(printed)));
            }
            for (index, row) in same.into_iter().enumerate() {
                // Variants of one published row follow it. Its figures are printed once.
                lines.push(self.line(view, row, (index == 0).then_some(printed)));
            }
        }
        let is_other = |row: &&&RowResult| !published.iter().any(|printed| printed.is_of(row));
        let others = rows.iter().filter(is_other);
        lines.extend(others.map(|row| self.line(view, row, None)));
        let columns = self.columns.iter();
        Table {
            columns: columns
                .map(|column| (self.heading(column), column.is_number))
                .collect(),
            rows: lines,
        }
    }

    fn heading(&self, column: &Column) -> String {
        match (column.cell, self.published) {
            (Cell::Published, Some(table)) => format!("{} ({})", column.heading, table.machine),
            _ => column.heading.clone(),
        }
    }

    fn line(
        &self,
        view: &View<'_>,
        row: &RowResult,
        printed: Option<&PublishedRow>,
    ) -> Vec<String> {
        let mut reason = match &row.measured {
            Measured::Figures(_) => None,
            Measured::Load(_) => Some("a load, which needs another kind of table"),
            Measured::Not { reason } => Some(&**reason),
        };
        let cell = |column: &Column| match (column.cell, row.figures()) {
            (Cell::Published, _) => match (self.published, printed) {
                (Some(table), Some(printed)) => table.cell(printed),
                _ => "none".to_owned(),
            },
            (Cell::Declared(cell), _) => cell(row),
            (Cell::ShareOfRow, _) => {
                share_of_other_row(view, row).map_or_else(String::new, significant)
            }
            (Cell::Load(cell), _) if row.load().is_some() => {
                row.load().map(|load| cell(row, load)).unwrap_or_default()
            }
            (_, Some(figures)) => column.of(row, figures).unwrap_or_default(),
            (Cell::Own(_), None) => String::new(),
            // The first column of figures has the reason; the others stay empty.
            (_, None) => match reason.take() {
                Some(reason) => format!("not measured: {reason}"),
                None => String::new(),
            },
        };
        self.columns.iter().map(cell).collect()
    }
}

/// A published row that the run lacks.
fn absent(printed: &PublishedRow) -> RowResult {
    let row = Row::new(&printed.0, &printed.1);
    let row = row.concurrency(printed.2).events(printed.3);
    RowResult {
        id: row.id(),
        declared: row.declared,
        workers: 0,
        measured: Measured::Not {
            reason: "no benchmark has this row".to_owned(),
        },
    }
}

/// One op of each row in words, each text once.
pub(super) fn ops<'a>(rows: impl Iterator<Item = &'a RowResult>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        let line = format!("- **{}**: {}\n", operation(row), row.declared.one_op);
        if !row.declared.one_op.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}
