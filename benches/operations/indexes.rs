//! What each index costs an append and gives a read: the log's own tables, with it and without.

use crate::support::log::Log;
use crate::support::raw;
use crate::support::raw_reads::{self, Read};
use crate::support::raw_writes;
use crate::{LABEL, page};
use bench::{BoxError, Row, Target};
use course_enrollment::CourseOffered;
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

/// Events at the end of the log that a read looks among: all but the dataset's courses.
const BEHIND: i64 = 40_000;

/// An index, and how to be without it.
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

pub(crate) fn declare(target: &mut Target, log: &Log) -> Result<(), BoxError> {
    let settings = target.block_on(storage(log))?;
    target.facts().set("Storage of the tables", settings);
    for (index, what) in [
        (None, "all indexes"),
        (Some(&TYPE), "without event_type_position"),
        (Some(&ID), "without event_id_key"),
        (Some(&TAG), "without event_tag_pkey"),
    ] {
        let row = row("Index Append", what).one_op("one INSERT of 1 course and its tags");
        let op = raw_writes::single(&target.block_on(altered(log, index))?, 1);
        target.row(row, &op);
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
        for (without, what) in [(None, "with"), (Some(index), "without")] {
            let row = row("Index Read", &format!("{what} {}", index.name)).one_op(one_op);
            let altered = target.block_on(altered(log, without))?;
            target.row(row, &raw_reads::fetched(&altered, read, 1));
        }
    }
    Ok(())
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
    row.variant(variant).fills(page::INDEXES)
}

/// A log of its own without the index.
async fn altered(log: &Log, without: Option<&Index>) -> Result<Log, BoxError> {
    let copy = log.another();
    if let Some(index) = without {
        let mut connection = raw::connect(copy.database().await?.url()).await?;
        sqlx::query(index.drop).execute(&mut connection).await?;
        connection.close().await?;
    }
    Ok(copy)
}

/// What the tables are stored with, and the server's defaults that hold where they say nothing.
async fn storage(log: &Log) -> Result<String, BoxError> {
    const OF_TABLES: &str = "
        SELECT string_agg(relname || ': ' || coalesce(array_to_string(reloptions, ', '),
                          'the server''s defaults'), '; ' ORDER BY relname)
          FROM pg_class WHERE relnamespace = 'dcb'::regnamespace AND relkind = 'r'";
    const OF_SERVER: &str = "
        SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name)
          FROM unnest(ARRAY['autovacuum', 'autovacuum_vacuum_insert_scale_factor',
                            'autovacuum_analyze_scale_factor',
                            'default_toast_compression']) AS name";
    let database = log.database().await?;
    let mut connection = raw::connect(database.url()).await?;
    let tables = scalar(&mut connection, OF_TABLES).await?;
    let server = scalar(&mut connection, OF_SERVER).await?;
    Ok(format!("{tables}; fillfactor 100 unless said; {server}"))
}

async fn scalar(connection: &mut PgConnection, query: &'static str) -> Result<String, BoxError> {
    Ok(sqlx::query_scalar(query).fetch_one(connection).await?)
}
