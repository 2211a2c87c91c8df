//! @dcb-es/event-store-postgres, in a process of Node: `peer-dcb-es FOLDER URL`. The folder has its
//! packages. A call goes through a pipe to Node and back, which a service in Node would not pay for.

mod node;

use node::Node;
use peer_protocol::{
    Condition, EventPeer, Events, Failure, Hello, NewEvent, QueryItem, Read, Recorded,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use uuid::Uuid;

struct DcbEs(Node);

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Appended(u64),
    Events(Vec<Stored>),
    Conflict(bool),
    Failed(String),
}

#[derive(Deserialize)]
struct Stored {
    position: u64,
    id: Option<Uuid>,
    r#type: String,
    tags: Vec<String>,
    data: Value,
}

fn new(event: &NewEvent) -> Result<Value, Failure> {
    let data: Value = serde_json::from_slice(&event.data).map_err(Failure::other)?;
    Ok(json!({"type": event.event_type, "tags": event.tags, "data": data, "id": event.id}))
}

fn recorded(stored: Stored) -> Recorded {
    Recorded {
        position: stored.position,
        id: stored.id,
        event_type: stored.r#type,
        tags: stored.tags,
        data: stored.data.to_string().into_bytes(),
    }
}

impl DcbEs {
    async fn call(&self, call: Value) -> Result<Answer, Failure> {
        let mut answer = self.0.call(call).await.map_err(Failure::other)?;
        if let Some(members) = answer.as_object_mut() {
            members.remove("number");
        }
        serde_json::from_value(answer).map_err(Failure::other)
    }
}

fn unexpected<T>(answer: Answer) -> Result<T, Failure> {
    match answer {
        Answer::Conflict(true) => Err(Failure::Conflict),
        Answer::Failed(reason) => Err(Failure::Other(reason)),
        _ => Err(Failure::Other("an answer to another call".to_owned())),
    }
}

impl EventPeer for DcbEs {
    const BLOCKS: bool = false;

    async fn append(
        &self,
        events: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> Result<u64, Failure> {
        let events: Result<Vec<Value>, Failure> = events.iter().map(new).collect();
        let append = json!({"append": {"events": events?, "condition": condition}});
        match self.call(append).await? {
            Answer::Appended(position) => Ok(position),
            other => unexpected(other),
        }
    }

    /// Its condition comes after the last event that the read found, as its `buildDecisionModel` does.
    async fn read(&self, items: &[QueryItem], after: Option<u64>) -> Result<Read, Failure> {
        match self
            .call(json!({"read": {"items": items, "after": after}}))
            .await?
        {
            Answer::Events(events) => Ok(Read {
                head: events.last().map(|event| event.position),
                events: events.into_iter().map(recorded).collect(),
            }),
            other => unexpected(other),
        }
    }
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, url] = &arguments[..] else {
        return Err(io::Error::other(
            "expected a folder and the URL of a database",
        ));
    };
    let hello = Hello::events(
        "@dcb-es/event-store-postgres",
        "7.0.1",
        "a commit waits for the server's flush; each call passes a pipe to Node",
    );
    peer_protocol::serve(hello, async {
        Node::start(Path::new(folder), url)
            .await
            .map(|node| Events::new(DcbEs(node)))
    })
}
