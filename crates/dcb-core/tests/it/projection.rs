//! Errors of the store reach the callers of projections and decisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dcb_core::{
    Append, Appended, DecisionModel, Error, Event, EventStore, EventStream, MemoryStore,
    Projection, Projector, Query, ReadOptions,
};

/// A store whose reads fail after the first event.
#[derive(Default)]
struct Breaking {
    store: MemoryStore,
    appended: AtomicBool,
}

impl EventStore for Breaking {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        self.appended.store(true, Ordering::Relaxed);
        self.store.submit(append).await
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        let read = self.store.query(query, options).await?;
        let first = read.events.into_iter().take(1).map(Ok);
        let broken = std::iter::once(Err(Error::Unavailable {
            source: Arc::new(std::io::Error::other("unplugged")),
        }));
        Ok(EventStream::new(
            read.head,
            futures_util::stream::iter(first.chain(broken)),
        ))
    }

    dcb_core::forward_event_store! { self { Self { store, .. } => store }
        head count exists tracked commands projection_limit health stats close
    }
}

fn event() -> Event {
    Event::builder("Happened").tag("a").build().unwrap()
}

fn tagged_a() -> Query {
    Query::builder().tag("a").build().unwrap()
}

async fn breaking() -> Breaking {
    let store = Breaking::default();
    store.store.append([event(), event()]).await.unwrap();
    store
}

#[tokio::test]
async fn stream_error_is_returned_to_the_caller() {
    let store = breaking().await;
    let mut stream = store
        .query_stream(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    assert!(matches!(
        stream.next().await,
        Some(Err(Error::Unavailable { .. }))
    ));
    assert!(stream.next().await.is_none());
    let answer = store.query(&Query::all(), ReadOptions::new()).await;
    assert!(matches!(answer, Err(Error::Unavailable { .. })));
}

#[tokio::test]
async fn failed_projection_returns_the_error_and_releases_its_permit() {
    let store = breaking().await;
    let counter = Projector::counter(tagged_a());
    let answer = store.project(&counter).await;
    assert!(matches!(answer, Err(Error::Unavailable { .. })));
    let mut stream = store.project_stream(&counter, None).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok((1, _)))));
    assert!(matches!(
        stream.next().await,
        Some(Err(Error::Unavailable { .. }))
    ));
    drop(stream);
    assert_eq!(store.projection_limit().running(), 0);
}

/// The state lacks the events that could not be read. Its condition would cover them, so an append
/// would not detect them.
#[tokio::test]
async fn failed_projection_stream_cannot_be_finished() {
    let store = breaking().await;
    let counter = Projector::counter(tagged_a());
    let mut stream = store.project_stream(&counter, None).await.unwrap();
    while let Some(Ok(_)) = stream.next().await {}
    assert!(stream.next().await.is_none());
    let finished = stream.finish().await;
    assert!(
        matches!(finished, Err(Error::Unavailable { .. })),
        "{finished:?}"
    );
}

#[tokio::test]
async fn decision_after_a_failed_read_appends_nothing() {
    let store = breaking().await;
    let model = DecisionModel::new(Projector::counter(tagged_a()));
    let answer = model.decide(&store, |_| Ok::<_, Error>(event())).await;
    assert!(matches!(answer, Err(Error::Unavailable { .. })));
    assert!(!store.appended.load(Ordering::Relaxed));
}

#[tokio::test]
async fn projection_beyond_the_limit_is_refused() {
    let store = MemoryStore::new().with_projection_limit(2);
    let counter = Projector::counter(Query::all());
    let first = store.project_stream(&counter, None).await.unwrap();
    let second = store.project_stream(&counter, None).await.unwrap();
    let answer = store.project(&counter).await;
    assert!(matches!(
        answer,
        Err(Error::TooManyProjections { max: 2, current: 2 })
    ));
    drop(first);
    store.project(&counter).await.unwrap();
    second.finish().await.unwrap();
    assert_eq!(store.projection_limit().running(), 0);
}

#[test]
fn query_of_combined_projections_is_their_union() {
    let tagged = |tag: &str| Query::builder().tag(tag).build().unwrap();
    let counter = |tag| Projector::counter(tagged(tag));
    let both = tagged("a").or(tagged("b"));
    assert_eq!((counter("a"), counter("b")).query(), both);
    assert_eq!(vec![counter("a"), counter("b"), counter("a")].query(), both);
    assert!(
        (counter("a"), Projector::counter(Query::all()))
            .query()
            .is_all()
    );
    assert!(Vec::<Projector<u64>>::new().query().is_all());
}
