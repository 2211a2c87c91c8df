//! Decisions of a crowd: `reports/decisions.md`.

use crate::report::{LoadTable, Page, Section, View, goals_table};
use crate::row::TableId;

/// Decisions.
pub const DECIDE: TableId = TableId("decisions_decide");

/// The page.
pub const PAGE: Page = Page {
    slug: "decisions",
    title: "Decisions of a Crowd",
    targets: &["decide"],
    body,
};

const TEXT: &str = "\
A decision reads the events of its boundary, decides, and appends on condition that no other event \
matches. Decisions of one store on the same boundary follow each other in a *lane*: each one folds what \
those before it have decided, and they share commits. A busy lane reads the log once. So a decision \
costs no read and no round trip of its own there, beside its share of the commit; alone it costs one read \
and one commit. A decision that finds the course full counts as refused. *Two stores* is the work of \
two processes: their decisions collide, and one of them is made again. *Two logs* divides the callers \
between two logs, in one server or in two; all share the machine's cores and its disk. *By hand* is a projection and an \
append under its condition, without a lane.";

const TABLE: LoadTable = LoadTable {
    id: DECIDE,
    store: "Boundaries",
    published: None,
};

fn body(view: &View<'_>) -> Vec<Section> {
    let heading = |text: &str| Section::Heading(2, text.to_owned());
    let mut page = vec![Section::Text(TEXT.to_owned())];
    page.extend(TABLE.sections(view));
    page.push(heading("Goals"));
    page.push(Section::Table(goals_table(view)));
    page
}
