//! Who follows the event store's log: `reports/subscriptions.md`.

use crate::report::Column::{
    self, Allocations, Dataset, Events, EventsPerSecond, Interval, Latency, Memory, Operation, P50,
    P99, TimesFloor,
};
use crate::report::{
    LoadTable, Page, Published, Section, TableSpec, View, floors_table, goals_table,
};
use crate::row::{Reading, TableId};

/// Appends, each until it is delivered.
pub const DELIVERY: TableId = TableId("subscriptions_delivery");
/// Kept projections that catch up.
pub const CATCH_UP: TableId = TableId("subscriptions_catch_up");

/// The page.
pub const PAGE: Page = Page {
    slug: "subscriptions",
    title: "Subscriptions and Kept Projections",
    targets: &["subscriptions"],
    body,
};

const DELIVERY_TEXT: &str = "\
Appends fall due at a fixed rate. A subscription of another store, with connections of its own, hears \
of them by NOTIFY and reads them. A call of **Subscribe** ends when the subscription has handed out its \
event, one of **Append** when it is committed: what lies between the two is from commit to delivery.";

const CATCH_UP_TEXT: &str = "\
A projection whose state is a row in the log's database is rebuilt: emptied, then brought to the end \
of the log, batch by batch, each in one transaction with the checkpoint.";

const DELIVERY_TABLE: LoadTable = LoadTable {
    id: DELIVERY,
    store: "Store",
    published: None,
};

const CATCH_UP_TABLE: TableSpec = TableSpec {
    id: CATCH_UP,
    columns: &[
        Operation,
        Dataset,
        Events("Events"),
        Latency,
        EventsPerSecond,
        Memory,
        Allocations,
    ],
    ours: OURS,
    published: Published::Nothing,
};
const OURS: &[Column] = &[Interval, P50, P99, TimesFloor];

fn body(view: &View<'_>) -> Vec<Section> {
    let heading = |text: &str| Section::Heading(2, text.to_owned());
    let mut page = vec![heading("Delivery"), Section::Text(DELIVERY_TEXT.to_owned())];
    page.extend(DELIVERY_TABLE.sections(view));
    page.push(heading("Catch-up"));
    page.push(Section::Text(CATCH_UP_TEXT.to_owned()));
    page.push(Section::Table(
        CATCH_UP_TABLE.table(view, Reading::OnTheDataset),
    ));
    let ops = CATCH_UP_TABLE.ops(view, Reading::OnTheDataset);
    page.push(Section::Text(format!("One op:\n\n{ops}")));
    page.push(heading("Floors"));
    page.push(Section::Table(floors_table(view)));
    page.push(heading("Figures to reach"));
    page.push(Section::Table(goals_table(view)));
    page
}
