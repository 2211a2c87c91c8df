//! tephra, embedded: `peer-tephra FOLDER`.

use peer_protocol::{
    Condition, EventPeer, Events, Failure, Hello, NewEvent, Promise, QueryItem, Read, Recorded,
};
use std::error::Error as StdError;
use std::io;
use std::path::Path;
use tephra::{
    AppendCondition, AppendError, ConflictSite, Event, EventType, Position, Query, SegmentConfig,
    SegmentSet, Tag, Tags, WriteCoordinator, WriteHandle, WriterConfig,
};
use uuid::Uuid;

/// The size of a segment in tephra's own example.
const SEGMENT_BYTES: usize = 256 * 1024 * 1024;
/// Bytes of the id that stands before the data. tephra's events have no id.
const ID_BYTES: usize = 16;

struct Tephra {
    writer: WriteHandle,
    /// Ends with the process.
    _coordinator: WriteCoordinator,
}

fn open(folder: &Path) -> Result<Tephra, Box<dyn StdError + Send + Sync>> {
    let set = SegmentSet::open(folder.join("tephra"), SegmentConfig::new(SEGMENT_BYTES))?;
    let (coordinator, writer) = WriteCoordinator::start(set, WriterConfig::default())?;
    Ok(Tephra {
        writer,
        _coordinator: coordinator,
    })
}

fn tags(tags: &[String]) -> Result<Tags, Failure> {
    let tags: Result<Vec<_>, _> = tags.iter().map(|tag| Tag::new(tag.as_str())).collect();
    Tags::new(tags.map_err(Failure::other)?).map_err(Failure::other)
}

fn event(event: &NewEvent) -> Result<Event, Failure> {
    let event_type = EventType::new(event.event_type.as_str()).map_err(Failure::other)?;
    let id = event.id.unwrap_or_default();
    let data = [id.as_bytes().as_slice(), &event.data].concat();
    Event::new(&event_type, &tags(&event.tags)?, &data).map_err(Failure::other)
}

fn query(items: &[QueryItem]) -> Result<Query, Failure> {
    if items.is_empty() {
        return Ok(Query::all());
    }
    let items = items.iter().map(|item| {
        let types = item.types.iter().map(|name| EventType::new(name.as_str()));
        let types: Result<Vec<_>, _> = types.collect();
        let types = types.map_err(Failure::other)?;
        Ok(tephra::QueryItem::new(types, tags(&item.tags)?))
    });
    Ok(Query::items(items.collect::<Result<Vec<_>, Failure>>()?))
}

fn recorded(position: Position, event: &Event) -> Recorded {
    let (id, data) = event.data().split_at(ID_BYTES);
    let id = Uuid::from_slice(id).unwrap_or_default();
    Recorded {
        position: position.get(),
        id: Some(id).filter(|id| !id.is_nil()),
        event_type: event.event_type().to_owned(),
        tags: event.tags().map(str::to_owned).collect(),
        data: data.to_vec(),
    }
}

impl EventPeer for Tephra {
    const BLOCKS: bool = true;

    async fn append(
        &self,
        events: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> Result<u64, Failure> {
        let events: Result<Vec<_>, _> = events.iter().map(event).collect();
        let events = events?;
        let condition = condition.map(|condition| {
            let after = Position::new(condition.after.unwrap_or(0));
            Ok(AppendCondition::new(query(&condition.items)?).after(after))
        });
        let condition = condition.transpose()?;
        loop {
            match self.writer.append(events.clone(), condition.clone()) {
                Ok(range) => return Ok(range.last.get()),
                // tephra says to try again: the event that conflicts is not durable yet.
                Err(AppendError::Conflict {
                    at: ConflictSite::SameBatch,
                    ..
                }) => {}
                Err(AppendError::Conflict { .. }) => return Err(Failure::Conflict),
                Err(error) => return Err(Failure::other(error)),
            }
        }
    }

    async fn read(&self, items: &[QueryItem], after: Option<u64>) -> Result<Read, Failure> {
        let query = query(items)?;
        let read = self
            .writer
            .read(&query, Position::new(after.unwrap_or(0)), None);
        let head = read.watermark().get();
        let events = read.collect_owned().map_err(Failure::other)?;
        Ok(Read {
            events: events
                .iter()
                .map(|(position, event)| recorded(*position, event))
                .collect(),
            head: Some(head).filter(|head| *head > 0),
        })
    }

    async fn follow(&self, after: u64, deliver: impl Fn(u64) + Send + Sync) -> Result<(), Failure> {
        let mut events = self.writer.subscribe(Query::all(), Position::new(after));
        while let Some(batch) = events.next_batch_async().await {
            for (position, _) in batch.map_err(Failure::other)? {
                deliver(position.get());
            }
        }
        Err(Failure::Other("the store has closed".to_owned()))
    }
}

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_default();
    let hello = Hello::events("tephra", "0.4.1", "an append waits for the log's flush")
        .promises(&[Promise::Dense, Promise::Exact, Promise::Fresh]);
    peer_protocol::serve(hello, async { open(Path::new(&folder)).map(Events::new) })
}
