//! UmaDB's Rust client, over one connection for all callers.
//!
//! `peer-umadb FOLDER` calls UmaDB's server, which is this program, started a second time with `server FOLDER
//! PORT`. `peer-umadb registrar sqlite FOLDER` and `registrar postgres URL` call ours, which is the program
//! `peer-ours` beside this one.

mod server;

use peer_protocol::{
    Condition, EventPeer, Events, Failure, Hello, NewEvent, Promise, QueryItem, Read, Recorded,
    serve,
};
use server::Server;
use std::io;
use std::path::Path;
use umadb_client::AsyncUmaDbClient;
use umadb_dcb::{
    DcbAppendCondition, DcbError, DcbEvent, DcbEventStoreAsync as _, DcbQuery, DcbQueryItem,
    DcbSequencedEvent,
};

struct Umadb {
    client: AsyncUmaDbClient,
    _server: Server,
}

fn query(items: &[QueryItem]) -> DcbQuery {
    let items = items.iter();
    let items = items.map(|item| DcbQueryItem::new().types(&item.types).tags(&item.tags));
    DcbQuery::new().items(items)
}

fn event(event: NewEvent) -> DcbEvent {
    let new = DcbEvent::new()
        .event_type(event.event_type)
        .tags(event.tags)
        .data(event.data);
    match event.id {
        Some(id) => new.uuid(id),
        None => new,
    }
}

fn recorded(event: DcbSequencedEvent) -> Recorded {
    Recorded {
        position: event.position,
        id: event.event.uuid,
        event_type: event.event.event_type,
        tags: event.event.tags,
        data: event.event.data,
    }
}

impl EventPeer for Umadb {
    const BLOCKS: bool = false;

    async fn append(
        &self,
        events: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> Result<u64, Failure> {
        let events = events.into_iter().map(event).collect();
        let condition = condition.map(|condition| {
            DcbAppendCondition::new(query(&condition.items)).after(condition.after)
        });
        match self.client.append(events, condition, None).await {
            Ok(position) => Ok(position),
            Err(DcbError::IntegrityError(_)) => Err(Failure::Conflict),
            Err(error) => Err(Failure::other(error)),
        }
    }

    async fn read(&self, items: &[QueryItem], after: Option<u64>) -> Result<Read, Failure> {
        // Its reads begin at a position, inclusive.
        let start = after.map(|after| after + 1);
        let read = self
            .client
            .read_with_head(Some(query(items)), start, false, None)
            .await;
        let (events, head) = read.map_err(Failure::other)?;
        Ok(Read {
            events: events.into_iter().map(recorded).collect(),
            head,
        })
    }

    async fn follow(&self, after: u64, deliver: impl Fn(u64) + Send + Sync) -> Result<(), Failure> {
        let subscribed = self.client.subscribe(None, Some(after)).await;
        let mut events = subscribed.map_err(Failure::other)?;
        loop {
            for event in events.next_batch().await.map_err(Failure::other)? {
                deliver(event.position);
            }
        }
    }
}

async fn open(
    server: io::Result<Server>,
) -> Result<Umadb, Box<dyn std::error::Error + Send + Sync>> {
    let server = server?;
    let client = server.connect().await?;
    Ok(Umadb {
        client,
        _server: server,
    })
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["server", folder, port] => server::serve(folder, port),
        [folder] => {
            let durability = "an append waits for the server's fsync";
            let hello = Hello::events("UmaDB", "0.7.8", durability).promises(&[
                Promise::Dense,
                Promise::Exact,
                Promise::Fresh,
            ]);
            serve(hello, async {
                open(Server::umadb(Path::new(folder)))
                    .await
                    .map(Events::new)
            })
        }
        ["registrar", "sqlite", folder] => {
            ours("a SQLite file", &format!("sqlite:{folder}/events.sqlite"))
        }
        ["registrar", "postgres", url] => ours("PostgreSQL", url),
        _ => Err(io::Error::other(
            "expected a store and where it keeps its data",
        )),
    }
}

fn ours(place: &str, url: &str) -> io::Result<()> {
    let name = format!("dcb-grpc on {place}");
    let durability = "an append waits for the flush of the store";
    let hello = Hello::events(&name, "of this workspace", durability).promises(&Promise::ALL);
    serve(hello, async {
        open(Server::ours(url)).await.map(Events::new)
    })
}
