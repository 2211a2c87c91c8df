use super::columns::{
    APPEND_IF_MS, CONFLICT_MS, LIMITS_MS, OURS, OURS_CONFLICT, OURS_READING, OURS_WRITING, READ_NS,
    WRITE_MS, WRITE_NS,
};
use super::figures;
use crate::report::{Detail, Published, TableSpec};

const EMPTIED: &str = "\
their ops/sec are barrier ops: 137 at 100 callers are 13,726 calls/s. Every write benchmark there \
empties the table first, so neither the dataset nor past events play a part.";

const EMPTIED_AND_COUNTED: &str = "\
their ops/sec column has the number of iterations instead of a rate; the rate here is computed \
from the printed latency. Every write benchmark there empties the table first, so neither the \
dataset nor past events play a part.";

const BARRIER: &str = "\
their ops/sec are barrier ops; at 100 callers an op is 100 calls. The op reads 100 events written \
for it, independent of the dataset.";

/// The tables in ns and bytes.
pub(super) const NS: [Detail; 4] = [
    Detail {
        title: "Append Performance",
        spec: TableSpec {
            id: super::APPEND,
            columns: WRITE_NS,
            ours: OURS,
            published: Published::Figures(&figures::APPEND),
        },
        correction: EMPTIED,
        chart: None,
    },
    Detail {
        title: "AppendIf Performance (No Conflict)",
        spec: TableSpec {
            id: super::APPEND_IF,
            columns: WRITE_NS,
            ours: OURS,
            published: Published::Figures(&figures::APPEND_IF),
        },
        correction: EMPTIED,
        chart: None,
    },
    Detail {
        title: "Project Performance",
        spec: TableSpec {
            id: super::PROJECT,
            columns: READ_NS,
            ours: OURS,
            published: Published::Figures(&figures::PROJECT),
        },
        correction: BARRIER,
        chart: None,
    },
    Detail {
        title: "Query Performance",
        spec: TableSpec {
            id: super::QUERY,
            columns: READ_NS,
            ours: OURS,
            published: Published::Figures(&figures::QUERY),
        },
        correction: BARRIER,
        chart: None,
    },
];

/// The tables in ms and KB.
pub(super) const MS: [Detail; 6] = [
    Detail {
        title: "Append Performance",
        spec: TableSpec {
            id: super::APPEND_MS,
            columns: WRITE_MS,
            ours: OURS_WRITING,
            published: Published::Figures(&figures::APPEND_MS),
        },
        correction: EMPTIED_AND_COUNTED,
        chart: Some("append"),
    },
    Detail {
        title: "AppendIf Performance (No Conflict)",
        spec: TableSpec {
            id: super::APPEND_IF_MS,
            columns: APPEND_IF_MS,
            ours: OURS_WRITING,
            published: Published::Figures(&figures::APPEND_IF_MS),
        },
        correction: EMPTIED_AND_COUNTED,
        chart: Some("append-if"),
    },
    Detail {
        title: "AppendIf Performance (With Conflict)",
        spec: TableSpec {
            id: super::APPEND_IF_CONFLICT_MS,
            columns: CONFLICT_MS,
            ours: OURS_CONFLICT,
            published: Published::Figures(&figures::APPEND_IF_CONFLICT_MS),
        },
        correction: "\
their rows never conflict: all calls append. The rows with true conflicts are shown next to them. \
Their ops/sec column has the number of iterations instead of a rate; the rate here is computed from \
the printed latency.",
        chart: Some("append-if-conflict"),
    },
    Detail {
        title: "Projection Performance",
        spec: TableSpec {
            id: super::PROJECTION_MS,
            columns: WRITE_MS,
            ours: OURS_READING,
            published: Published::Figures(&figures::PROJECTION_MS),
        },
        correction: "\
their ops/sec column has the number of iterations instead of a rate; the rate here is computed \
from the printed latency. The op folds exactly 100 events written for it, independent of the dataset.",
        chart: Some("projection"),
    },
    Detail {
        title: "Read Performance",
        spec: TableSpec {
            id: super::READ_MS,
            columns: WRITE_MS,
            ours: OURS_READING,
            published: Published::Figures(&figures::READ_MS),
        },
        correction: "\
their memory and allocations are copied from Project's and ProjectStream's rows (the ns table has \
32,850 B and 497 allocations for Query). QueryStream takes the first event only and drops the \
stream; on the dataset it reads the stream to its end. Query returns 34 of 100 events. Their \
ops/sec column has the number of iterations instead of a rate; the rate here is computed from the \
printed latency.",
        chart: Some("read"),
    },
    Detail {
        title: "ProjectionLimits Performance",
        spec: TableSpec {
            id: super::PROJECTION_LIMITS_MS,
            columns: LIMITS_MS,
            ours: OURS,
            published: Published::Figures(&figures::PROJECTION_LIMITS_MS),
        },
        correction: "\
their ops/sec column has the number of iterations instead of a rate; the rate here is computed \
from the printed latency. A call that is refused at the limit of five counts as a call on both pages.",
        chart: Some("projection-limits"),
    },
];
