use super::chart::Chart;
use super::published::Published;
use super::raw;
use super::table::Table;
use super::template;
use super::view::View;
use crate::error::Error;
use crate::run::TargetRun;

/// A page of the reports.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Its file name without extension.
    pub slug: &'static str,
    /// The targets whose rows it shows. Only a run with all of them renders it.
    pub targets: &'static [&'static str],
    /// Its text, in Markdown. Figures of the run replace the expressions in double braces; the
    /// README lists what can stand there.
    pub text: &'static str,
    /// Its [published figures](Published), as JSON.
    pub published: &'static str,
    /// The parts that only this page has, by name.
    pub parts: &'static [(&'static str, Part)],
}

/// A part that only one page has.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// Sections, in place of a line.
    Sections(fn(&View<'_>, &Published) -> Vec<Section>),
    /// A value within a text, made from the words after its name; `None` if it was not measured.
    Value(fn(&View<'_>, &str) -> Option<String>),
}

/// A section of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Section {
    /// Headings, paragraphs or lists, as Markdown.
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

impl Page {
    /// The names of its tables, which rows fill. A part that shows a table has the table's name.
    pub fn tables(&self) -> impl Iterator<Item = &'static str> + use<> {
        let parts = self.parts.iter().map(|part| part.0);
        template::tables(self.text).chain(parts)
    }

    pub(super) fn wrong(&self, reason: impl Into<String>) -> Error {
        Error::Page {
            page: self.slug.to_owned(),
            reason: reason.into(),
        }
    }
}

/// Renders a page from the targets of one run. The same targets always give the same text.
///
/// # Errors
/// [`Error::Incomplete`] without targets; [`Error::Page`] if the page has a mistake;
/// [`Error::Chart`] if a chart cannot be drawn.
pub fn render(page: &Page, targets: &[TargetRun]) -> Result<Rendered, Error> {
    let Some(view) = View::new(targets) else {
        let reason = "the run has no targets".to_owned();
        return Err(Error::Incomplete {
            page: page.slug.to_owned(),
            reason,
        });
    };
    let published = serde_json::from_str(page.published);
    let published: Published = published.map_err(|error| page.wrong(error.to_string()))?;
    let mut blocks = Vec::new();
    let mut charts = Vec::new();
    for section in template::sections(page, &view, &published)? {
        blocks.push(match section {
            Section::Text(text) => text.trim_end().to_owned() + "\n",
            Section::Table(table) => table.markdown(),
            Section::Chart(chart) => {
                // The name of the page keeps charts of different pages apart.
                let file = format!("{}-{}.svg", page.slug, chart.name);
                charts.push((file.clone(), chart.svg()?));
                format!("![{}](charts/{file})\n", chart.title)
            }
        });
    }
    Ok(Rendered {
        markdown: blocks.join("\n"),
        charts,
        raw: raw::lines(&view),
    })
}
