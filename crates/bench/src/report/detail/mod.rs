mod charts;

use super::page::Section;
use super::table::TableSpec;
use super::view::View;
use crate::row::Reading;

/// The part of a page about one table that was also published: the rows of both readings, a
/// correction of the published figures, and charts. Most pages consist of such parts.
#[derive(Debug, Clone, Copy)]
pub struct Detail {
    /// Its heading.
    pub title: &'static str,
    /// The table.
    pub spec: TableSpec,
    /// The correct meaning of the published figures, printed under the table.
    pub correction: &'static str,
    /// The prefix of its charts' names; `None` if another table has charts of the same rows.
    pub chart: Option<&'static str>,
}

const READINGS: [(Reading, &str); 2] = [
    (Reading::AsInTheSeed, "As in the seed"),
    (Reading::OnTheDataset, "On the dataset"),
];

impl Detail {
    /// The heading, the table of each reading that has rows, the correction and the charts. If
    /// neither reading has rows, the table of the first reading lists the published rows with the
    /// reason why they were not measured.
    pub fn sections(&self, view: &View<'_>) -> Vec<Section> {
        let mut sections = vec![Section::Heading(3, self.title.to_owned())];
        let has_rows = |reading| view.table(self.spec.id, reading).next().is_some();
        let nowhere = !READINGS.iter().any(|(reading, _)| has_rows(*reading));
        for (index, (reading, title)) in READINGS.into_iter().enumerate() {
            // The table of a reading without rows would contain only reasons.
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
