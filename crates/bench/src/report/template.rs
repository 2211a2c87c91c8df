//! The text of a page, and what replaces the double braces in it.

use super::charts::charts;
use super::column::Column;
use super::floors::floors_table;
use super::goals::goals;
use super::header::header;
use super::load::LoadTable;
use super::page::{Page, Part, Section};
use super::published::Published;
use super::raw::raw_block;
use super::table::{MeasuredTable, ops};
use super::view::View;
use crate::error::Error;
use crate::result::RowResult;
use crate::row::Reading;

const READINGS: [(Reading, &str); 2] = [
    (Reading::AsInTheSeed, "As in the seed"),
    (Reading::OnTheDataset, "On the dataset"),
];

/// The text for a value that the run lacks.
const NOT_MEASURED: &str = "not measured";

/// The sections of a page.
pub(super) fn sections(
    page: &Page,
    view: &View<'_>,
    published: &Published,
) -> Result<Vec<Section>, Error> {
    let mut sections = Vec::new();
    let (mut text, mut heading) = (String::new(), "");
    for line in page.text.lines() {
        if let Some(part) = alone(line) {
            sections.extend(filled(page, view, &text)?);
            text.clear();
            sections.extend(part_sections(page, view, published, part, heading)?);
            continue;
        }
        if line.starts_with('#') {
            heading = line.trim_start_matches(['#', ' ']);
        }
        text.push_str(line);
        text.push('\n');
    }
    sections.extend(filled(page, view, &text)?);
    Ok(sections)
}

/// The tables that a page's text names.
pub(super) fn tables(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter_map(|line| {
        let (words, _) = alone(line)?.split_once(": ")?;
        words.split(' ').nth(1)
    })
}

/// The content of braces that take a whole line.
fn alone(line: &str) -> Option<&str> {
    line.strip_prefix("{{")?.strip_suffix("}}")
}

fn part_sections(
    page: &Page,
    view: &View<'_>,
    published: &Published,
    part: &str,
    heading: &str,
) -> Result<Vec<Section>, Error> {
    let (words, rest) = part.split_once(": ").unwrap_or((part, ""));
    let words: Vec<&str> = words.split(' ').collect();
    let table = |name| {
        Ok::<_, Error>(MeasuredTable {
            name,
            columns: columns(page, rest)?,
            published: published.get(name),
        })
    };
    Ok(match words[..] {
        ["head"] => vec![Section::Table(header(view))],
        ["floors"] => vec![Section::Table(floors_table(view))],
        ["goals"] => goals(view),
        ["raw"] => vec![Section::Text(raw_block(view.seed_rows()))],
        ["readings", name] => both_readings(&table(name)?, view),
        ["seed", name] => vec![Section::Table(table(name)?.table(view, READINGS[0].0))],
        ["dataset", name] => vec![Section::Table(table(name)?.table(view, READINGS[1].0))],
        ["ops", name] => vec![Section::Text(ops(view.filling(name)))],
        ["loads", name] => {
            let published = published.get(name);
            let store = rest;
            LoadTable {
                name,
                store,
                published,
            }
            .sections(view)
        }
        ["charts", table, name] => {
            let charts = charts(view, table, name, heading);
            charts.into_iter().map(Section::Chart).collect()
        }
        [name] => match page.parts.iter().find(|part| part.0 == name) {
            Some((_, Part::Sections(sections))) => sections(view, published),
            _ => return Err(page.wrong(format!("it has no part {part}"))),
        },
        _ => return Err(page.wrong(format!("{{{{{part}}}}} has no meaning"))),
    })
}

fn columns(page: &Page, described: &str) -> Result<Vec<Column>, Error> {
    let columns = described.split(" | ").map(|text| {
        Column::described(text).ok_or_else(|| page.wrong(format!("there is no column {text}")))
    });
    columns.collect()
}

/// The table of each reading that has rows, with its ops in words. If neither has rows, the table
/// of the first reading lists the published rows with the reason why they were not measured.
fn both_readings(table: &MeasuredTable<'_>, view: &View<'_>) -> Vec<Section> {
    let has_rows = |reading| view.table(table.name, reading).next().is_some();
    let nowhere = !READINGS.iter().any(|(reading, _)| has_rows(*reading));
    let shown = READINGS
        .into_iter()
        .enumerate()
        .filter(|(index, (reading, _))| {
            // The table of a reading without rows would contain only reasons.
            has_rows(*reading) || (nowhere && *index == 0)
        });
    let sections = shown.flat_map(|(_, (reading, title))| {
        let ops = ops(view.table(table.name, reading));
        [
            Section::Text(format!("#### {title}")),
            Section::Table(table.table(view, reading)),
            Section::Text(format!("One op:\n\n{ops}")),
        ]
    });
    sections.collect()
}

/// The text with its values; `None` if it is empty.
fn filled(page: &Page, view: &View<'_>, text: &str) -> Result<Option<Section>, Error> {
    let mut filled = String::new();
    let mut rest = text.trim();
    while let Some((before, after)) = rest.split_once("{{") {
        let (value, after) = after
            .split_once("}}")
            .ok_or_else(|| page.wrong("braces are not closed"))?;
        filled.push_str(before);
        filled.push_str(&value_of(page, view, value)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok((!filled.is_empty()).then_some(Section::Text(filled)))
}

/// `Latency of tsdb_write: Single Write`: a column's cell, of the first row of an operation in a
/// table. Other values are parts of the page.
fn value_of(page: &Page, view: &View<'_>, value: &str) -> Result<String, Error> {
    let (name, argument) = value.split_once(": ").unwrap_or((value, ""));
    let missing = || NOT_MEASURED.to_owned();
    if let Some((_, Part::Value(value))) = page.parts.iter().find(|part| part.0 == name) {
        return Ok(value(view, argument).unwrap_or_else(missing));
    }
    let column_and_table = name.split_once(" of ");
    let (column, table) =
        column_and_table.ok_or_else(|| page.wrong(format!("it has no value {name}")))?;
    let column = columns(page, column)?.remove(0);
    let cell = |row: &RowResult| column.of(row, row.figures()?);
    Ok(view
        .first(table, argument)
        .and_then(cell)
        .unwrap_or_else(missing))
}
