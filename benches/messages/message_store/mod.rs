//! The message store on SQLite and PostgreSQL: the published rows, and further rows on table sizes,
//! batches and concurrent writers.
//!
//! - **The published rows**: a write to a new stream; a read of the first 10 of a stream's 100
//!   messages; a read of all 100 messages of a category, in a table without other messages.
//! - **Table sizes**: the same reads, and 100 messages from the middle of one of 100 categories, in
//!   tables of ten thousand to a million messages.
//! - **Batches** and **writers at once**: the cost of a shared commit. Each caller makes several
//!   writes per op, so waiting for the last caller at the end of an op costs little.
//! - **Sustained**: callers that write without a barrier, for seconds, to SQLite in a file.
//! - **Decoded**: reads that decode the JSON into a map, as the published reads do.
//!
//! Each row that writes has a separate database or file. A floor is the bare driver on the same
//! tables: rusqlite, or sqlx with prepared statements and the store's session settings.

mod backends;
mod ops;
mod postgres_floors;
mod sizes;
mod sqlite_floors;
mod sustained;
mod writers;

use backends::{Backend, Postgres, Sqlite};
use bench::{BoxError, Floor, Goal, Op, Row, Target};
use message_store::sqlite::Durability;
use message_store::{Message, StreamName};
use std::time::Duration;

pub(crate) fn declare(target: &mut Target) -> Result<(), BoxError> {
    let postgres = Postgres::new(target);
    target.facts().set("SQLite", rusqlite::version());
    let memory = Sqlite::memory();
    let full = Sqlite::file(Durability::Full);
    let normal = Sqlite::file(Durability::Normal);
    for sqlite in [&memory, &full, &normal] {
        blocking_rows(target, sqlite);
        seed_rows(target, sqlite, |_| None);
    }
    seed_rows(target, &postgres, |op| {
        Some(postgres_floors::published(&postgres, op))
    });
    sizes::declare(target, &full, &postgres);
    writers::declare(target, &full, &postgres);
    sustained::declare(target, &full);
    Ok(())
}

/// One of the published ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    Write,
    Stream,
    Category,
}

impl Published {
    pub(crate) const ALL: [Self; 3] = [Self::Write, Self::Stream, Self::Category];

    pub(crate) fn row(self, backend: &str) -> Row {
        match self {
            Self::Write => Row::new("WriteMessage", backend)
                .fills("message_write")
                .one_op("1 write of a message with 42 bytes of JSON to a new stream"),
            Self::Stream => Row::new("GetStreamMessages", backend)
                .events(10)
                .fills("message_stream")
                .one_op("1 read of the first 10 of the 100 messages of a stream"),
            Self::Category => Row::new("GetCategoryMessages", backend)
                .events(100)
                .fills("message_category")
                .one_op("1 read of the 100 messages of a category, of 10 streams, the whole table"),
        }
    }
}

impl Published {
    /// The number of streams that hold the 100 messages of a read.
    pub(crate) fn streams(self) -> usize {
        match self {
            Self::Write => 0,
            Self::Stream => 1,
            Self::Category => 10,
        }
    }

    /// The messages of a read, stream by stream.
    pub(crate) fn content(self) -> impl Iterator<Item = (StreamName, Vec<Message>)> {
        let count = self.streams();
        (0..count).map(move |number| {
            let name = ops::stream(&format!("account-{number}"));
            (name, vec![ops::message(); 100 / count])
        })
    }
}

/// The rows of the async API. For SQLite they are variants of the blocking rows.
fn seed_rows<B: Backend>(
    target: &mut Target,
    backend: &B,
    floor: impl Fn(Published) -> Option<Floor>,
) {
    for published in Published::ALL {
        let row = backend.name(published.row(backend.label()), Some("async"));
        let row = match floor(published) {
            Some(floor) => {
                let goal = Goal::at_most_times(&floor, 1.15);
                row.floor(&floor).goal(goal)
            }
            None => row,
        };
        let op: Op = ops::published(backend, published);
        target.row(row, &op);
        if published != Published::Write {
            let row = backend.name(published.row(backend.label()), Some("decoded"));
            let row = row.fills("message_decoded");
            target.row(row, &ops::decoded(backend, published));
        }
    }
}

fn blocking_rows(target: &mut Target, sqlite: &Sqlite) {
    /// The times of the same ops in C, in microseconds and in the order of the ops.
    const REACH_US: [u64; 3] = [10, 6, 45];
    for (published, reach) in Published::ALL.into_iter().zip(REACH_US) {
        let floor = sqlite_floors::published(sqlite, published);
        let row = sqlite
            .name(published.row(sqlite.label()), None)
            .floor(&floor);
        let row = match (sqlite.is_memory(), published) {
            // The goal of an op in memory is an absolute time. It needs no fsync, whose time
            // differs between machines.
            (true, _) => row.goal(Goal::mean(Duration::from_micros(reach))),
            (false, Published::Write) => row.goal(Goal::at_most_times(&floor, 1.15)),
            (false, _) => row,
        };
        // Only a write to a file waits for the disk.
        let row = match (sqlite.is_memory(), published) {
            (false, Published::Write) => row,
            _ => row.steady(),
        };
        target.row(row, &ops::blocking(sqlite, published));
    }
}
