//! `dcb-core` as a store of the suite.

use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{
    AppendCondition, Error, Event, EventStore as _, Position, Projector, Query, ReadOptions,
    SubscribeOptions, Subscription,
};
use postgres_store::ServerConfig;
use store_fault::{Health, Listener};
use uuid::Uuid;

use crate::place::{LIMIT, NEVER};
use crate::store::{Answer, Call, Failed, Store};

#[derive(Clone)]
pub(crate) struct Events(PostgresStore);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::new(&error, error.is_transient())
    }
}

fn event(tag: &str) -> Event {
    let event = Event::builder("Happened").tag(tag).build();
    event.expect("the event is valid")
}

fn tagged(tag: &str) -> Query {
    let query = Query::builder().tag(tag).build();
    query.expect("the query is valid")
}

/// A call of a clone of the store.
macro_rules! call {
    ($this:ident, $name:literal, $store:ident => $call:expr) => {{
        let $store = $this.0.clone();
        Call::new($name, async move { $call })
    }};
}

impl Store for Events {
    type Subscription = Subscription;

    const APPLICATION: &'static str = "dcb-core";
    const TABLE: &'static str = "dcb.event";
    const READS_IN_A_STATEMENT: usize = 16;

    fn config(url: &str) -> ServerConfig {
        Config::new(url).server
    }

    async fn connect(server: ServerConfig) -> Answer<Self> {
        let mut config = Config::new("");
        config.server = server;
        let store = PostgresStore::connect(config).await;
        store.map(Self).map_err(Failed::from)
    }

    async fn write_as(&self, id: Uuid) -> Answer<()> {
        let appended = self.0.append(event("a").with_id(id)).await;
        appended.map(drop).map_err(Failed::from)
    }

    async fn write_and_wait(&self) -> Answer<()> {
        let appended = self.0.append(event("a")).await?;
        let waited = self.0.wait_for(appended.last(), LIMIT).await;
        waited.map(drop).map_err(Failed::from)
    }

    async fn ids(&self) -> Answer<Vec<Uuid>> {
        let read = self.0.query(&tagged("a"), ReadOptions::new()).await;
        let events = read?.events;
        Ok(events.iter().map(|event| event.id()).collect())
    }

    async fn head(&self) -> Answer<()> {
        self.0.head().await.map(drop).map_err(Failed::from)
    }

    fn reads(&self) -> Vec<Call> {
        let (all, new) = (Query::all, ReadOptions::new);
        vec![
            call!(self, "head", store => store.head().await),
            call!(self, "query", store => store.query(&all(), new()).await),
            call!(self, "query_stream", store => {
                let mut stream = store.query_stream(&all(), new()).await?;
                while let Some(event) = stream.next().await {
                    event?;
                }
                Ok::<_, Error>(())
            }),
            call!(self, "count", store => store.count(&all()).await),
            call!(self, "exists", store => store.exists(&tagged("a")).await),
            call!(self, "tracked", store => store.tracked("a").await),
            call!(self, "commands", store => store.commands(None, 10).await),
            call!(self, "project", store => store.project(&Projector::counter(all())).await
            ),
        ]
    }

    fn changes(&self) -> Vec<Call> {
        let unseen = Uuid::now_v7().to_string();
        let condition = AppendCondition::fail_if(tagged(&unseen));
        vec![
            call!(self, "append_if", store => store.append_if(event(&unseen), condition).await
            ),
            call!(self, "clear", store => store.clear().await),
        ]
    }

    /// Positions are dense, and the past of the log refuses a decision.
    async fn verify(&self) {
        let log = self.0.query(&Query::all(), ReadOptions::new()).await;
        let events = log.unwrap().events;
        let positions = events.iter().map(|event| event.position().get());
        assert!(positions.eq(1..=events.len() as u64));
        let first = Position::new(1).expect("positions begin at 1");
        let condition = AppendCondition::fail_if(tagged("a")).after(first);
        let refused = self.0.append_if(event("b"), condition).await;
        assert!(
            matches!(refused, Err(Error::Conflict { .. })),
            "{refused:?}"
        );
    }

    async fn health(&self) -> Answer<Health> {
        self.0.health().await.map_err(Failed::from)
    }

    fn listener(&self) -> Option<Listener> {
        self.0.stats().listener
    }

    fn lost_connections(&self) -> u64 {
        self.0.stats().lost_connections
    }

    fn reads_so_far(&self) -> u64 {
        self.0.stats().reads
    }

    fn replicas_in_use(&self) -> usize {
        self.0.replicas_in_use()
    }

    fn subscribe(&self, interval: Option<Duration>) -> Subscription {
        let mut options = SubscribeOptions::new();
        if let Some(interval) = interval {
            options = options.poll_interval(interval);
        }
        self.0.subscribe(Query::all(), None, options)
    }

    fn follow_as(&self, number: usize) -> Subscription {
        let query = tagged("a").or(tagged(&number.to_string()));
        let never = SubscribeOptions::new().poll_interval(NEVER);
        self.0.subscribe(query, None, never)
    }

    async fn next(following: &mut Subscription) -> Answer<Uuid> {
        let event = following.next().await.expect("the log has no end");
        event.map(|event| event.id()).map_err(Failed::from)
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
