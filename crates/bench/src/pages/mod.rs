//! The pages of the reports. The text of a page is a Markdown file in this folder, and its published
//! figures are a file in `fixtures/published`.

mod local_postgresql;
mod message_store;
mod tsdb;

use crate::report::{Page, Part};

/// All pages.
pub const ALL: [Page; 11] = [
    LOCAL_POSTGRESQL,
    LOCAL_POSTGRESQL_WRITES,
    LOCAL_POSTGRESQL_READS,
    DECISIONS,
    MESSAGE_STORE,
    PERFORMANCE,
    OPERATIONS,
    SQLITE,
    SUBSCRIPTIONS,
    TSDB,
    SERIES_PEERS,
];

/// The event store on a local PostgreSQL.
pub const LOCAL_POSTGRESQL: Page = Page {
    slug: "local-postgresql",
    targets: &[
        "append",
        "append_if",
        "query",
        "project",
        "streams",
        "projection_limits",
    ],
    text: include_str!("local-postgresql.md"),
    published: include_str!("../../../../fixtures/published/local-postgresql.json"),
    parts: &[
        ("comparison", Part::Sections(local_postgresql::comparison)),
        ("insights", Part::Sections(local_postgresql::insights)),
    ],
};

/// Its writes in ms and KB.
pub const LOCAL_POSTGRESQL_WRITES: Page = Page {
    slug: "local-postgresql-writes",
    targets: &["append", "append_if"],
    text: include_str!("local-postgresql-writes.md"),
    published: include_str!("../../../../fixtures/published/local-postgresql-writes.json"),
    parts: &[],
};

/// Its reads in ms and KB.
pub const LOCAL_POSTGRESQL_READS: Page = Page {
    slug: "local-postgresql-reads",
    targets: &["query", "project", "streams", "projection_limits"],
    text: include_str!("local-postgresql-reads.md"),
    published: include_str!("../../../../fixtures/published/local-postgresql-reads.json"),
    parts: &[],
};

/// Decisions of a crowd.
pub const DECISIONS: Page = Page {
    slug: "decisions",
    targets: &["decide"],
    text: include_str!("decisions.md"),
    published: "{}",
    parts: &[],
};

/// The message store on SQLite and PostgreSQL.
pub const MESSAGE_STORE: Page = Page {
    slug: "message-store",
    targets: &["message_store", "http_messages"],
    text: include_str!("message-store.md"),
    published: include_str!("../../../../fixtures/published/message-store.json"),
    parts: &[
        ("latency", Part::Sections(message_store::latency)),
        ("against", Part::Value(message_store::against)),
    ],
};

/// The event store by the operations of the Go library's performance page.
pub const PERFORMANCE: Page = Page {
    slug: "performance",
    targets: &["performance", "http_events"],
    text: include_str!("performance.md"),
    published: include_str!("../../../../fixtures/published/performance.json"),
    parts: &[],
};

/// The event store by the operations of the Go library's benchmark report, on 61,000 events, and
/// the cost of its indexes.
pub const OPERATIONS: Page = Page {
    slug: "operations",
    targets: &["operations"],
    text: include_str!("operations.md"),
    published: include_str!("../../../../fixtures/published/operations.json"),
    parts: &[],
};

/// The event store embedded, on SQLite.
pub const SQLITE: Page = Page {
    slug: "sqlite",
    targets: &["sqlite"],
    text: include_str!("sqlite.md"),
    published: "{}",
    parts: &[],
};

/// Subscriptions and kept projections of the event store.
pub const SUBSCRIPTIONS: Page = Page {
    slug: "subscriptions",
    targets: &["subscriptions"],
    text: include_str!("subscriptions.md"),
    published: "{}",
    parts: &[],
};

/// The time-series engine.
pub const TSDB: Page = Page {
    slug: "tsdb",
    targets: &["tsdb_write", "tsdb_query", "http_series"],
    text: include_str!("tsdb.md"),
    published: include_str!("../../../../fixtures/published/tsdb.json"),
    parts: &[
        ("batch_sizes", Part::Sections(tsdb::batch_sizes)),
        ("sensors", Part::Value(tsdb::sensors)),
        ("points", Part::Value(tsdb::points)),
        ("outside_engine", Part::Value(tsdb::outside_engine)),
        ("batching", Part::Value(tsdb::batching)),
        ("compression", Part::Value(tsdb::compression)),
    ],
};

/// The time-series engine beside other databases. A peer is a floor of each row.
pub const SERIES_PEERS: Page = Page {
    slug: "series-peers",
    targets: &["series_peers"],
    text: include_str!("series-peers.md"),
    published: "{}",
    parts: &[],
};
