//! The load runs against a server, and the same work without HTTP.

use super::figures;
use crate::report::{LoadTable, Section, View};
use crate::row::TableId;

/// The four load runs of the published page.
pub const WEB_APP: TableId = TableId("performance_web_app");
/// The same requests at a fixed rate.
pub const FIXED_RATE: TableId = TableId("performance_fixed_rate");
/// Single operations: each connection sends its next request when the last one is answered.
pub const CLOSED: TableId = TableId("performance_closed");

const READING: &str = "\
The demo server runs as a separate process. The server, PostgreSQL and the callers share the machine's \
cores. Each caller has an open connection (HTTP/1.1 over loopback TCP). **p50** and **p99** are \
percentiles of the time from sending a request to the end of its answer; **from intended** counts from \
the moment when the request was due, even if no caller was free. **Success** is the share of requests \
answered with 200 and the expected content: if a condition must fail, only a refusal is a success \
(**refused as expected**). **Library** is the same work without HTTP: the same number of callers in \
this process, straight to the store.";

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
Up to 100 users come and go along the published ramp. Each draws a request, sends it, and pauses for 20 \
to 100 ms. **Allowed/s** is the rate that these pauses would allow if answers took no time. The ramp \
takes 4 min 20 s in the full profile and 10 s in the quick one; the library's users have a shorter ramp. \
A pause ends on the next millisecond of the runtime's timer, which adds about 1 ms.

The published success rates count only successes, so they are always 100 %. Four of the eight kinds of \
reads are answered with 400 there (tags without a colon, a query without items), and still counted. This \
server answers them.",
    },
    Part {
        title: "At a fixed rate",
        table: LoadTable {
            id: FIXED_RATE,
            store: "Store",
            published: None,
        },
        note: "\
The same requests fall due at the rate that the pauses of 100 users would allow, independent of the \
server. If the server stalls, requests that fall due during the stall are late, and their latency \
includes the wait.",
    },
    Part {
        title: "One operation at a time",
        table: LoadTable {
            id: CLOSED,
            store: "Store",
            published: None,
        },
        note: "\
Each connection sends its next request when the last one is answered. This is the highest rate of the \
machine for this number of connections.",
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
