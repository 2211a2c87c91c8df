//! Subscriptions and kept projections of the event store: `reports/subscriptions.md`.

use crate::report::Column::{
    self, Allocations, Dataset, Events, EventsPerSecond, Interval, Latency, Memory, Operation, P50,
    P99, TimesFloor,
};
use crate::report::{
    LoadTable, Page, Published, Section, TableSpec, View, floors_table, goals_table,
};
use crate::row::{Reading, TableId};

/// The time from an append to its delivery.
pub const DELIVERY: TableId = TableId("subscriptions_delivery");
/// The time in which kept projections catch up with the log.
pub const CATCH_UP: TableId = TableId("subscriptions_catch_up");

/// The page.
pub const PAGE: Page = Page {
    slug: "subscriptions",
    title: "Subscriptions and Kept Projections",
    targets: &["subscriptions"],
    body,
};

const DELIVERY_TEXT: &str = "\
Appends fall due at a fixed rate. A subscription of another store, on separate connections, is notified \
by NOTIFY and reads the events. A call of **Subscribe** ends when the subscription has delivered its \
event, a call of **Append** when it is committed. The difference is the time from commit to delivery.";

const CATCH_UP_TEXT: &str = "\
A projection with its state in the log's database is rebuilt: reset, then brought to the end of the \
log in batches. A batch and its checkpoint are one transaction.";

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
    page.push(heading("Goals"));
    page.push(Section::Table(goals_table(view)));
    page
}
