mod charts;

use super::page::Section;
use super::table::TableSpec;
use super::view::View;
use crate::row::Reading;

/// A published table with what is known of its figures: the part of a page that most pages are
/// made of.
#[derive(Debug, Clone, Copy)]
pub struct Detail {
    /// Its heading.
    pub title: &'static str,
    /// The table.
    pub spec: TableSpec,
    /// What the published figures really mean, printed under the table.
    pub correction: &'static str,
    /// The start of its charts' names; none for tables whose rows another table charts.
    pub chart: Option<&'static str>,
}

const READINGS: [(Reading, &str); 2] = [
    (Reading::AsInTheSeed, "As in the seed"),
    (Reading::OnTheDataset, "On the dataset"),
];

impl Detail {
    /// The heading, the table of each reading that has rows with what one op of them is, the
    /// correction and the charts. Where neither reading has rows, the first says so row by row.
    pub fn sections(&self, view: &View<'_>) -> Vec<Section> {
        let mut sections = vec![Section::Heading(3, self.title.to_owned())];
        let has_rows = |reading| view.table(self.spec.id, reading).next().is_some();
        let nowhere = !READINGS.iter().any(|(reading, _)| has_rows(*reading));
        for (index, (reading, title)) in READINGS.into_iter().enumerate() {
            if has_rows(reading) || (nowhere && index == 0) {
                sections.extend(self.reading(view, reading, title));
            }
        }
        sections.push(Section::Text(format!(
            "The published figures: {}",
            self.correction
        )));
        let charts = charts::charts(self, view).into_iter().map(Section::Chart);
        sections.extend(charts);
        sections
    }

    fn reading(&self, view: &View<'_>, reading: Reading, title: &str) -> [Section; 3] {
        let ops = self.spec.ops(view, reading);
        [
            Section::Heading(4, title.to_owned()),
            Section::Table(self.spec.table(view, reading)),
            Section::Text(format!("One op:\n\n{ops}")),
        ]
    }
}
