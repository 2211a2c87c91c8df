use super::chart::Chart;
use super::header::header;
use super::raw;
use super::table::Table;
use super::view::View;
use crate::error::Error;
use crate::run::TargetRun;

/// A page of the reports: its targets and its sections.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Its file name without extension.
    pub slug: &'static str,
    /// Its first heading.
    pub title: &'static str,
    /// The targets whose rows it shows. Only a run with all of them renders it.
    pub targets: &'static [&'static str],
    /// Makes the sections below the head.
    pub body: fn(&View<'_>) -> Vec<Section>,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Section {
    /// A heading: its level and its text.
    Heading(usize, String),
    /// Paragraphs or lists, as Markdown.
    Text(String),
    /// A table.
    Table(Table),
    /// A chart, drawn into a separate file.
    Chart(Chart),
}

/// The files of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The page.
    pub markdown: String,
    /// Charts by file name.
    pub charts: Vec<(String, String)>,
    /// All samples in Go's benchmark format, which benchstat reads.
    pub raw: String,
}

/// Renders a page from the targets of one run. The same targets always give the same text.
///
/// # Errors
/// [`Error::Incomplete`] without targets; [`Error::Chart`] if a chart cannot be drawn.
pub fn render(page: &Page, targets: &[TargetRun]) -> Result<Rendered, Error> {
    let Some(view) = View::new(targets) else {
        let reason = "the run has no targets".to_owned();
        return Err(Error::Incomplete {
            page: page.slug.to_owned(),
            reason,
        });
    };
    let mut markdown = format!("# {}\n\n{}", page.title, header(&view).markdown());
    let mut charts = Vec::new();
    for section in (page.body)(&view) {
        markdown.push('\n');
        match section {
            Section::Heading(level, text) => {
                markdown.push_str(&format!("{} {text}\n", "#".repeat(level)));
            }
            Section::Text(text) => markdown.push_str(&(text.trim_end().to_owned() + "\n")),
            Section::Table(table) => markdown.push_str(&table.markdown()),
            Section::Chart(chart) => {
                // The name of the page keeps charts of different pages apart.
                let file = format!("{}-{}.svg", page.slug, chart.name);
                markdown.push_str(&format!("![{}](charts/{file})\n", chart.title));
                charts.push((file, chart.svg()?));
            }
        }
    }
    Ok(Rendered {
        markdown,
        charts,
        raw: raw::lines(&view),
    })
}
