//! The cost of each index for an append, and its benefit for a read. Both are measured on the log's
//! tables with the index and without it.

use super::LABEL;
use crate::support::log::Log;
use crate::support::raw_reads::{self, Read};
use crate::support::raw_writes;
use crate::support::server::Server;
use bench::{Row, Target};
use course_enrollment::CourseOffered;

/// The reads cover the last 40,000 events of the log: enrollments and the 100 past events. The
/// dataset's courses and students come before them.
const BEHIND: i64 = 40_000;

/// An index, and the statement that drops it.
struct Index {
    name: &'static str,
    drop: &'static str,
}

const TYPE: Index = Index {
    name: "event_type_position",
    drop: "DROP INDEX dcb.event_type_position",
};
const ID: Index = Index {
    name: "event_id_key",
    drop: "ALTER TABLE dcb.event DROP CONSTRAINT event_id_key",
};
const TAG: Index = Index {
    name: "event_tag_pkey",
    drop: "ALTER TABLE dcb.event_tag DROP CONSTRAINT event_tag_pkey",
};

pub(crate) fn declare(target: &mut Target, log: &Log) {
    Server::reserve_storage(target);
    for (index, what) in [
        (None, "all indexes"),
        (Some(&TYPE), "without event_type_position"),
        (Some(&ID), "without event_id_key"),
        (Some(&TAG), "without event_tag_pkey"),
    ] {
        let row = row("Index Append", what).one_op("one INSERT of 1 course and its tags");
        // This text is for the head of the page. Every row sets the same text, because the rows
        // differ only by the dropped index.
        let log = log.altered(index.map(|index| index.drop)).noting_storage();
        target.row(row, &raw_writes::single(&log, 1));
    }
    for (read, index, one_op) in [
        (BY_TYPE, &TYPE, "the courses among the last 40,000 events"),
        (
            BY_TAG,
            &TAG,
            "the courses of a category among the last 40,000 events",
        ),
        (Read::ById, &ID, "the event of one id"),
    ] {
        for (dropped, what) in [(None, "with"), (Some(index.drop), "without")] {
            let row = row("Index Read", &format!("{what} {}", index.name)).one_op(one_op);
            target.row(row, &raw_reads::fetched(&log.altered(dropped), read, 1));
        }
    }
}

const BY_TYPE: Read = Read::OfType {
    event_type: CourseOffered::TYPE,
    last: BEHIND,
};
const BY_TAG: Read = Read::Tagged {
    event_type: CourseOffered::TYPE,
    tag: "category:Computer Science",
    last: BEHIND,
};

fn row(operation: &str, variant: &str) -> Row {
    let row = Row::new(operation, LABEL).on_the_dataset();
    row.variant(variant).fills("operations_indexes")
}
