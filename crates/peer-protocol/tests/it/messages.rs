//! The calls of a peer that stores messages.

use crate::log::SMALL;
use peer_protocol::{Failure, MessagePeer, Messages, Operation, Peer as _, Run};
use std::sync::{Arc, Mutex};

/// The name of each message's stream.
#[derive(Default, Clone)]
struct Streams(Arc<Mutex<Vec<String>>>);

impl MessagePeer for Streams {
    const BLOCKS: bool = true;

    async fn write_message(&self, stream: &str, _: &str, data: &[u8]) -> Result<(), Failure> {
        serde_json::from_slice::<serde_json::Value>(data).map_err(Failure::other)?;
        self.0.lock().unwrap().push(stream.to_owned());
        Ok(())
    }

    async fn read_stream(&self, stream: &str) -> Result<u64, Failure> {
        let streams = self.0.lock().unwrap();
        Ok(streams.iter().filter(|name| *name == stream).count() as u64)
    }

    async fn read_category(&self, category: &str, from: u64, limit: u64) -> Result<u64, Failure> {
        let streams = self.0.lock().unwrap();
        let found = streams.iter().skip(from as usize - 1);
        let found = found.filter(|name| name.split('-').next() == Some(category));
        Ok(found.take(limit as usize).count() as u64)
    }
}

#[tokio::test]
async fn every_operation_makes_its_calls() {
    let streams = Streams::default();
    let mut peer = Messages::new(streams.clone());
    peer.prepare(SMALL).await.unwrap();
    assert_eq!(streams.0.lock().unwrap().len(), SMALL.events);
    for (operation, messages) in [
        (Operation::ReadStream, 10),
        (Operation::ReadCategory, 100),
        (Operation::WriteMessage, 1),
        // The streams that are read keep their length.
        (Operation::ReadStream, 10),
    ] {
        let run = Run {
            operation,
            callers: 3,
            seconds: 60.0,
            limit: Some(30),
        };
        let answer = peer.run(&run).await;
        assert_eq!(answer.failure, None, "{operation:?}");
        assert_eq!(
            (answer.calls, answer.events),
            (30, 30 * messages),
            "{operation:?}"
        );
    }
}
