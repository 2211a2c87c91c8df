//! The event store with its async interface, on any backend.

use crate::content;
use dcb_core::{
    AnyStore, Append, DecisionModel, Error, EventStore as _, Position, Projector, ReadOptions,
};
use peer_protocol::{Condition, EventPeer, Failure, NewEvent, QueryItem, Read};

pub(crate) struct Async(AnyStore);

pub(crate) async fn open(url: &str) -> Result<Async, Error> {
    AnyStore::open(url).await.map(Async)
}

impl EventPeer for Async {
    const BLOCKS: bool = false;

    async fn append(
        &self,
        events: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> Result<u64, Failure> {
        let events: Result<Vec<_>, _> = events.into_iter().map(content::event).collect();
        let mut append = Append::new(events.map_err(content::failure)?);
        if let Some(condition) = condition {
            append = append.condition(content::condition(&condition).map_err(content::failure)?);
        }
        let appended = self.0.submit(append).await.map_err(content::failure)?;
        Ok(appended.last().get())
    }

    async fn read(&self, items: &[QueryItem], after: Option<u64>) -> Result<Read, Failure> {
        let query = content::query(items).map_err(content::failure)?;
        let options = match after.and_then(Position::new) {
            Some(after) => ReadOptions::new().after(after),
            None => ReadOptions::new(),
        };
        let events = self.0.query(&query, options).await;
        events
            .map(|events| content::read(&events))
            .map_err(content::failure)
    }

    async fn follow(&self, after: u64, deliver: impl Fn(u64) + Send + Sync) -> Result<(), Failure> {
        content::follow(&self.0, after, deliver).await
    }

    async fn decide(
        &self,
        boundary: QueryItem,
        decide: impl Fn(u64) -> Option<NewEvent> + Send + Sync,
    ) -> Result<u64, Failure> {
        let query = content::query(&[boundary]).map_err(content::failure)?;
        let model = DecisionModel::new(Projector::counter(query));
        let decided = model.decide(&self.0, |count| {
            let events = decide(count).map(content::event).transpose()?;
            Ok::<Vec<_>, Error>(events.into_iter().collect())
        });
        Ok(u64::from(
            decided.await.map_err(content::failure)?.appended.is_some(),
        ))
    }
}
