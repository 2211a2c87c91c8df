//! The published targets next to the measured figures.

use super::{CATEGORY, STREAM, WRITE, heading};
use crate::report::{Section, Table, View, number};
use crate::result::RowResult;
use crate::row::{Reading, TableId};

struct Target {
    backend: &'static str,
    /// The published target: less than this many milliseconds.
    at_most_ms: f64,
    published: &'static str,
}

const fn target(backend: &'static str, at_most_ms: f64, published: &'static str) -> Target {
    Target {
        backend,
        at_most_ms,
        published,
    }
}

const TARGETS: [(TableId, &str, [Target; 3]); 3] = [
    (
        WRITE,
        "WriteMessage",
        [
            target("Postgres", 10.0, "none given"),
            target("SQLite File", 5.0, "0.33ms, 15x faster"),
            target("SQLite In-Memory", 1.0, "0.02ms, 50x faster"),
        ],
    ),
    (
        STREAM,
        "GetStreamMessages (10 messages)",
        [
            target("Postgres", 15.0, "none given"),
            target("SQLite File", 8.0, "0.04ms, 200x faster"),
            target("SQLite In-Memory", 2.0, "0.03ms, 66x faster"),
        ],
    ),
    (
        CATEGORY,
        "GetCategoryMessages (100 messages)",
        [
            target("Postgres", 50.0, "none given"),
            target("SQLite File", 30.0, "0.17ms, 176x faster"),
            target("SQLite In-Memory", 10.0, "0.16ms, 62x faster"),
        ],
    ),
];

pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    let sections = TARGETS.iter().flat_map(|(table, title, targets)| {
        let rows: Vec<&RowResult> = view.table(*table, Reading::AsInTheSeed).collect();
        let lines = targets.iter().map(|target| target.line(&rows)).collect();
        let headings = [
            "Backend",
            "Target",
            "Actual",
            "Margin",
            "Status",
            "Published",
        ];
        [
            heading(3, title),
            Section::Table(Table::of_text(&headings, lines)),
        ]
    });
    sections.collect()
}

impl Target {
    fn line(&self, rows: &[&RowResult]) -> Vec<String> {
        // The row without a variant is the backend's default configuration.
        let row = rows
            .iter()
            .find(|row| row.declared.dataset == self.backend && row.declared.variant.is_none());
        let mean_ns = row
            .and_then(|row| row.figures())
            .map(|figures| figures.mean_ns.value);
        let [actual, margin, status] = match mean_ns {
            None => ["not measured", "-", "-"].map(str::to_owned),
            Some(mean_ns) => {
                let margin = self.at_most_ms * 1e6 / mean_ns;
                let status = if margin > 1.0 { "met" } else { "missed" };
                [
                    number::duration(mean_ns),
                    format!("{}x", number::significant(margin)),
                    status.to_owned(),
                ]
            }
        };
        vec![
            self.backend.to_owned(),
            format!("<{}ms", self.at_most_ms),
            actual,
            margin,
            status,
            self.published.to_owned(),
        ]
    }
}
