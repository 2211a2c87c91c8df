//! redb as an event store: `peer-redb FOLDER`. Each append is one write transaction that checks its
//! condition and waits for the flush.

use key_value::{Log, find, stored};
use peer_protocol::{
    Condition, EventPeer, Events, Failure, Hello, NewEvent, Promise, QueryItem, Read,
};
use redb::{Database, Error, ReadableDatabase as _, ReadableTable, TableDefinition};
use std::io;
use std::path::Path;

const EVENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");
const KEYS: TableDefinition<'_, (&str, u64), ()> = TableDefinition::new("keys");

struct Tables<E, K> {
    events: E,
    keys: K,
}

impl<E, K> Log for Tables<E, K>
where
    E: ReadableTable<u64, &'static [u8]>,
    K: ReadableTable<(&'static str, u64), ()>,
{
    type Error = Error;

    fn event(&self, position: u64) -> Result<Option<Vec<u8>>, Error> {
        Ok(self
            .events
            .get(position)?
            .map(|stored| stored.value().to_vec()))
    }

    fn positions(&self, tag: &str, after: u64) -> Result<Vec<u64>, Error> {
        let keys = self.keys.range((tag, after + 1)..=(tag, u64::MAX))?;
        keys.map(|key| Ok(key?.0.value().1)).collect()
    }

    fn last(&self) -> Result<u64, Error> {
        Ok(self
            .events
            .last()?
            .map_or(0, |(position, _)| position.value()))
    }
}

struct Redb(Database);

fn open(file: &Path) -> Result<Redb, Error> {
    let database = Database::create(file)?;
    let begun = database.begin_write()?;
    begun.open_table(EVENTS)?;
    begun.open_table(KEYS)?;
    begun.commit()?;
    Ok(Redb(database))
}

impl Redb {
    /// The position of the last event; `None` if the condition does not hold.
    fn try_append(
        &self,
        new: &[NewEvent],
        condition: Option<&Condition>,
    ) -> Result<Option<u64>, Error> {
        let begun = self.0.begin_write()?;
        let mut tables = Tables {
            events: begun.open_table(EVENTS)?,
            keys: begun.open_table(KEYS)?,
        };
        if let Some(condition) = condition
            && !find(&tables, &condition.items, condition.after.unwrap_or(0))?.is_empty()
        {
            return Ok(None);
        }
        let mut last = tables.last()?;
        for event in new {
            last += 1;
            for tag in &event.tags {
                tables.keys.insert((tag.as_str(), last), ())?;
            }
            tables.events.insert(last, stored(event).as_slice())?;
        }
        drop(tables);
        begun.commit()?;
        Ok(Some(last))
    }

    fn try_read(&self, items: &[QueryItem], after: u64) -> Result<Read, Error> {
        let begun = self.0.begin_read()?;
        let tables = Tables {
            events: begun.open_table(EVENTS)?,
            keys: begun.open_table(KEYS)?,
        };
        Ok(Read {
            events: find(&tables, items, after)?,
            head: Some(tables.last()?).filter(|head| *head > 0),
        })
    }
}

impl EventPeer for Redb {
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
    let hello = Hello::events("redb", "4.6", "each append waits for the file's flush").promises(&[
        Promise::Dense,
        Promise::Exact,
        Promise::Fresh,
    ]);
    let file = Path::new(&folder).join("events.redb");
    peer_protocol::serve(hello, async { open(&file).map(Events::new) })
}
