//! fjall as an event store: `peer-fjall FOLDER`. Each append is one write transaction that checks its
//! condition and waits for the journal's flush.

use fjall::{
    Error, KeyspaceCreateOptions, PersistMode, Readable, SingleWriterTxDatabase,
    SingleWriterTxKeyspace,
};
use key_value::{Log, find, stored};
use peer_protocol::{
    Condition, EventPeer, Events, Failure, Hello, NewEvent, Promise, QueryItem, Read,
};
use std::io;
use std::path::Path;

struct Fjall {
    database: SingleWriterTxDatabase,
    events: SingleWriterTxKeyspace,
    keys: SingleWriterTxKeyspace,
}

/// The key of a tag at a position. Positions are big endian, so keys of a tag are in order.
fn key(tag: &str, position: u64) -> Vec<u8> {
    [tag.as_bytes(), &[0], &position.to_be_bytes()].concat()
}

fn position(key: &[u8]) -> u64 {
    let number = key.last_chunk::<8>().expect("a key ends with a position");
    u64::from_be_bytes(*number)
}

/// A snapshot or a write transaction.
struct Seen<'a, R> {
    at: &'a R,
    store: &'a Fjall,
}

impl<R: Readable> Log for Seen<'_, R> {
    type Error = Error;

    fn event(&self, position: u64) -> Result<Option<Vec<u8>>, Error> {
        let stored = self.at.get(&self.store.events, position.to_be_bytes())?;
        Ok(stored.map(|stored| stored.to_vec()))
    }

    fn positions(&self, tag: &str, after: u64) -> Result<Vec<u64>, Error> {
        let keys = self
            .at
            .range(&self.store.keys, key(tag, after + 1)..=key(tag, u64::MAX));
        keys.map(|found| Ok(position(&found.key()?))).collect()
    }

    fn last(&self) -> Result<u64, Error> {
        let last = self.at.last_key_value(&self.store.events);
        last.map_or(Ok(0), |last| Ok(position(&last.key()?)))
    }
}

fn open(folder: &Path) -> Result<Fjall, Error> {
    let database = SingleWriterTxDatabase::builder(folder.join("fjall")).open()?;
    Ok(Fjall {
        events: database.keyspace("events", KeyspaceCreateOptions::default)?,
        keys: database.keyspace("keys", KeyspaceCreateOptions::default)?,
        database,
    })
}

impl Fjall {
    /// The position of the last event; `None` if the condition does not hold.
    fn try_append(
        &self,
        new: &[NewEvent],
        condition: Option<&Condition>,
    ) -> Result<Option<u64>, Error> {
        let mut begun = self
            .database
            .write_tx()
            .durability(Some(PersistMode::SyncData));
        let seen = Seen {
            at: &begun,
            store: self,
        };
        if let Some(condition) = condition
            && !find(&seen, &condition.items, condition.after.unwrap_or(0))?.is_empty()
        {
            return Ok(None);
        }
        let mut last = seen.last()?;
        for event in new {
            last += 1;
            for tag in &event.tags {
                begun.insert(&self.keys, key(tag, last), []);
            }
            begun.insert(&self.events, last.to_be_bytes(), stored(event));
        }
        begun.commit()?;
        Ok(Some(last))
    }

    fn try_read(&self, items: &[QueryItem], after: u64) -> Result<Read, Error> {
        let seen = Seen {
            at: &self.database.read_tx(),
            store: self,
        };
        Ok(Read {
            events: find(&seen, items, after)?,
            head: Some(seen.last()?).filter(|head| *head > 0),
        })
    }
}

impl EventPeer for Fjall {
    const BLOCKS: bool = true;

    async fn append(
        &self,
        events: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> Result<u64, Failure> {
        let appended = self.try_append(&events, condition.as_ref());
        appended.map_err(Failure::other)?.ok_or(Failure::Conflict)
    }

    async fn read(&self, items: &[QueryItem], after: Option<u64>) -> Result<Read, Failure> {
        self.try_read(items, after.unwrap_or(0))
            .map_err(Failure::other)
    }
}

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_default();
    let hello = Hello::events(
        "fjall",
        "3.1",
        "each append waits for the journal's fdatasync",
    )
    .promises(&[Promise::Dense, Promise::Exact, Promise::Fresh]);
    peer_protocol::serve(hello, async { open(Path::new(&folder)).map(Events::new) })
}
