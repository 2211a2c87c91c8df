//! A right store in memory, and a store that forgets its conditions.

use peer_protocol::{
    Condition, ContentSize, EventPeer, Events, Failure, NewEvent, Peer, QueryItem, Read, Recorded,
};
use std::sync::Mutex;
use tokio::sync::Notify;

pub(crate) const SMALL: ContentSize = ContentSize {
    events: 3_000,
    payload_bytes: 40,
    seed: 7,
};

#[derive(Default)]
pub(crate) struct Log {
    pub(crate) events: Mutex<Vec<Recorded>>,
    pub(crate) ignores_conditions: bool,
    /// A read knows only the events that it found.
    pub(crate) tells_no_head: bool,
    pub(crate) has_no_subscription: bool,
    pub(crate) loses_deliveries: bool,
    pub(crate) loses_its_first_event: bool,
    pub(crate) appended: Notify,
}

fn matching(events: &[Recorded], items: &[QueryItem], after: Option<u64>) -> Vec<Recorded> {
    let events = events.iter().filter(|event| Some(event.position) > after);
    let is_wanted = |event: &&Recorded| {
        let mut items = items.iter();
        items.len() == 0 || items.any(|item| item.matches(&event.event_type, &event.tags))
    };
    events.filter(is_wanted).cloned().collect()
}

impl EventPeer for Log {
    const BLOCKS: bool = false;

    async fn append(
        &self,
        new: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> Result<u64, Failure> {
        // Others run between a decision's read and its append.
        tokio::task::yield_now().await;
        let mut events = self.events.lock().unwrap();
        if let Some(condition) = condition.filter(|_| !self.ignores_conditions)
            && !matching(&events, &condition.items, condition.after).is_empty()
        {
            return Err(Failure::Conflict);
        }
        for event in new {
            let position = events.len() as u64 + 1;
            events.push(Recorded {
                position,
                id: event.id,
                event_type: event.event_type,
                tags: event.tags,
                data: event.data,
            });
        }
        self.appended.notify_one();
        Ok(events.len() as u64)
    }

    async fn read(&self, items: &[QueryItem], after: Option<u64>) -> Result<Read, Failure> {
        let events = self.events.lock().unwrap();
        let mut found = matching(&events, items, after);
        if self.loses_its_first_event {
            found.retain(|event| event.position > 1);
        }
        let last = if self.tells_no_head {
            found.last()
        } else {
            events.last()
        };
        Ok(Read {
            head: last.map(|event| event.position),
            events: found,
        })
    }

    async fn follow(
        &self,
        mut after: u64,
        deliver: impl Fn(u64) + Send + Sync,
    ) -> Result<(), Failure> {
        if self.has_no_subscription {
            return Err(Failure::Other("it has no subscription".to_owned()));
        }
        loop {
            let last = self.events.lock().unwrap().len() as u64;
            if !self.loses_deliveries {
                (after + 1..=last).for_each(&deliver);
            }
            after = last;
            self.appended.notified().await;
        }
    }
}

/// A peer with this store, which holds the small dataset.
pub(crate) async fn prepared(log: Log) -> Events<Log> {
    let mut peer = Events::new(log);
    assert_eq!(peer.prepare(SMALL).await.unwrap(), Some(3_000));
    peer
}
