use super::figures;
use crate::report::Column::{
    self, Allocations, Concurrency, Dataset, Events, EventsPerSecond, Interval, Latency, Memory,
    Operation, P50, P99, Throughput, Titled,
};
use crate::report::{Detail, LoadTable, Published, TableSpec};
use crate::row::TableId;

const COLUMNS: &[Column] = &[
    Operation,
    Titled("Series", &Dataset),
    Concurrency,
    Events("Points"),
    Latency,
    Throughput,
    Titled("Points/s", &EventsPerSecond),
    Memory,
    Allocations,
];
const MEMORY_COLUMNS: &[Column] = &[
    Operation,
    Concurrency,
    Events("Points"),
    Allocations,
    Memory,
];
const OURS: &[Column] = &[Interval, P50, P99, Column::Published];
const OURS_ALONE: &[Column] = &[Interval, P50, P99];

const fn published(
    title: &'static str,
    id: TableId,
    figures: &'static crate::report::PublishedText,
    correction: &'static str,
    chart: Option<&'static str>,
) -> Detail {
    Detail {
        title,
        spec: TableSpec {
            id,
            columns: COLUMNS,
            ours: OURS,
            published: Published::Text(figures),
        },
        correction,
        chart,
    }
}

const fn alone(title: &'static str, id: TableId, chart: Option<&'static str>) -> Detail {
    Detail {
        title,
        spec: TableSpec {
            id,
            columns: COLUMNS,
            ours: OURS_ALONE,
            published: Published::Nothing,
        },
        correction: "there are none for these ops.",
        chart,
    }
}

const WRITE: Detail = published(
    "Write Performance",
    super::WRITE,
    &figures::WRITE,
    "\
they come from the handler in the process, without a socket, and from a store that appends to a list \
without looking at timestamps. Their concurrent rows have one caller per thread of that machine; ours \
have two.",
    Some("write"),
);

const MEMORY: Detail = Detail {
    title: "Memory Efficiency",
    spec: TableSpec {
        id: super::MEMORY,
        columns: MEMORY_COLUMNS,
        ours: &[Column::Published],
        published: Published::Text(&figures::MEMORY),
    },
    correction: "they are the allocations of one op, not the size of a point.",
    chart: None,
};

const QUERY: Detail = published(
    "Query Performance",
    super::QUERY,
    &figures::QUERY,
    "\
3.6k queries/s of the small range is a slip: 27 µs are 37k. Every query returns all points, \
independent of its range.",
    Some("query"),
);

const HTTP: Detail = published(
    "HTTP Overhead",
    super::HTTP,
    &figures::HTTP,
    "\
they come from a handler that writes to a recorder, without a socket; the op includes making the \
request. The row without a name in brackets is the function that makes the answer. *handler* is the \
server's handler, and the op includes making the request. *router* sends the same request through all \
layers of the server: counters, bounds, tokens, routes.",
    None,
);

const STRESS: Detail = published(
    "Stress Test Results",
    super::STRESS,
    &figures::STRESS,
    "\
\"197 bytes/point\" is the memory that a query of a million points allocates, divided by a million. It \
is not the size of a point. \"1000x\" is a thousand callers per thread; ours are a thousand threads.",
    Some("stress"),
);

/// Requests to a server over a socket.
pub(super) const LOAD: LoadTable = LoadTable {
    id: super::LOAD,
    store: "Store",
    published: None,
};

/// The chapters of the page, and their tables.
pub(super) const CHAPTERS: [(&str, &[Detail]); 4] = [
    ("Writes and queries through JSON", &[WRITE, QUERY, HTTP]),
    ("Allocations", &[MEMORY]),
    ("Large and many", &[STRESS]),
    (
        "The engine's API",
        &[
            alone("Writes", super::ENGINE_WRITE, Some("engine-write")),
            alone("Writes with a log, replay and restart", super::LOG, None),
            alone(
                "Ranges and averages",
                super::ENGINE_READ,
                Some("engine-read"),
            ),
            alone("Finding series", super::SELECT, None),
        ],
    ),
];
