//! The load runs of a server, and the library doing the same.

use super::figures;
use crate::report::{LoadTable, Section, View};
use crate::row::TableId;

/// The four load runs of the published page.
pub const WEB_APP: TableId = TableId("performance_web_app");
/// The same requests at a fixed rate.
pub const FIXED_RATE: TableId = TableId("performance_fixed_rate");
/// Single operations, each connection the next request when the last is answered.
pub const CLOSED: TableId = TableId("performance_closed");

const READING: &str = "\
The demo server runs in a process of its own; it, PostgreSQL and the callers share the machine's \
cores. A caller has a connection that is kept open (HTTP/1.1 over loopback TCP). **p50** and **p99** \
are of the time from sending a request to the end of its answer, **from intended** of the time from the \
moment it was due, whether or not a caller was free. **Success** is the share of the requests whose \
answer was 200 and said what it had to say: a condition that must fail counts as a success only where \
it failed (**refused as foreseen**). **Library** is the same work without HTTP: as many callers in this \
process, straight to the store.";

struct Part {
    title: &'static str,
    table: LoadTable,
    note: &'static str,
}

const PARTS: [Part; 3] = [
    Part {
        title: "The four runs",
        table: LoadTable {
            id: WEB_APP,
            store: "Store",
            published: Some(&figures::WEB_APP),
        },
        note: "\
Up to 100 users come and go by the published ramp, draw a request, ask it, and pause for 20 to 100 ms; \
**allowed/s** is the rate that these pauses would allow if answers took no time. The ramp takes 4 min \
20 s in the full profile and 15 s in the quick one; the library's users come and go faster. Pauses end \
on the next millisecond of the runtime's timer, which costs about 1 ms of each.

The published success rates count successes only, so that they can't be other than 100 %: of the eight \
kinds of reads four are answered 400 there (tags without a colon, a query without items), and counted \
as well. Here they are answered.",
    },
    Part {
        title: "At a fixed rate",
        table: LoadTable {
            id: FIXED_RATE,
            store: "Store",
            published: None,
        },
        note: "\
The same requests fall due at the rate that the pauses of 100 users would allow, whatever the server \
does: a pause of the server delays requests that are due meanwhile, and their latency has the wait.",
    },
    Part {
        title: "One operation at a time",
        table: LoadTable {
            id: CLOSED,
            store: "Store",
            published: None,
        },
        note: "\
Each connection sends its next request when the last is answered: the most that the machine does for so \
many connections.",
    },
];

/// The chapter of the page.
pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    let mut chapter = vec![
        Section::Heading(2, "Web-App Load Testing".to_owned()),
        Section::Text(READING.to_owned()),
    ];
    for part in &PARTS {
        chapter.push(Section::Heading(3, part.title.to_owned()));
        chapter.extend(part.table.sections(view));
        chapter.push(Section::Text(part.note.to_owned()));
    }
    chapter
}
