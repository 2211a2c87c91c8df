//! Errors of the store reach the callers of projections and decisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dcb_core::{
    Append, Appended, Bookmark, DecisionModel, Error, Event, EventStore, EventStream, Events,
    Fault, MemoryStore, Position, Problem, Projection, Projector, ProjectorBuilder, Query,
    ReadOptions, Reads, Reason, SequencedEvent,
};
use uuid::Uuid;

/// A store whose reads fail after the first event.
#[derive(Clone, Default)]
struct Breaking {
    store: MemoryStore,
    appended: Arc<AtomicBool>,
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
        let broken = std::iter::once(Err(Fault::Unreachable(Reason::new("unplugged")).into()));
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
        Some(Err(Error::Fault(Fault::Unreachable(_))))
    ));
    assert!(stream.next().await.is_none());
    let answer = store.query(&Query::all(), ReadOptions::new()).await;
    assert!(matches!(answer, Err(Error::Fault(Fault::Unreachable(_)))));
}

#[tokio::test]
async fn failed_projection_returns_the_error_and_releases_its_permit() {
    let store = breaking().await;
    let counter = Projector::counter(tagged_a());
    let answer = store.project(&counter).await;
    assert!(matches!(answer, Err(Error::Fault(Fault::Unreachable(_)))));
    let mut stream = store.project_stream(&counter, None).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok((1, _)))));
    assert!(matches!(
        stream.next().await,
        Some(Err(Error::Fault(Fault::Unreachable(_))))
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
        matches!(finished, Err(Error::Fault(Fault::Unreachable(_)))),
        "{finished:?}"
    );
}

#[tokio::test]
async fn decision_after_a_failed_read_appends_nothing() {
    let store = breaking().await;
    let model = DecisionModel::new(Projector::counter(tagged_a()));
    let answer = model.decide(&store, |_| Ok::<_, Error>(event())).await;
    assert!(matches!(answer, Err(Error::Fault(Fault::Unreachable(_)))));
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
fn reads_of_combined_projections_are_their_union() {
    let tagged = |tag: &str| Query::builder().tag(tag).build().unwrap();
    let counter = |tag| Projector::counter(tagged(tag));
    let both = Reads::every(tagged("a").or(tagged("b")));
    assert_eq!((counter("a"), counter("b")).reads(), both);
    assert_eq!(vec![counter("a"), counter("b"), counter("a")].reads(), both);
    let all = (counter("a"), Projector::counter(Query::all()));
    assert_eq!(all.reads(), Reads::every(Query::all()));
    let last = Reads::every(tagged("a")).and(Reads::last(tagged("b")));
    assert_eq!((counter("b").last_only(), counter("a")).reads(), last);
}

/// It would be the whole log that protects such a decision, and any append would conflict with it.
#[tokio::test]
async fn empty_list_of_projections_is_refused() {
    let store = MemoryStore::new();
    let none = Vec::<Projector<u64>>::new();
    let projected = store.project(&none).await;
    assert!(
        matches!(&projected, Err(Error::Invalid { field, problem: Problem::Empty }) if field == "projections"),
        "{projected:?}"
    );
    assert!(store.project_stream(&(none,), None).await.is_err());
    assert_eq!(store.projection_limit().running(), 0);
}

#[test]
fn handlers_are_checked() {
    let named = |name: &str| Projector::builder(0).on(name, |_, _| ());
    let field = |builder: ProjectorBuilder<i32>| match builder.build() {
        Err(Error::Invalid { field, problem }) => (field, problem),
        other => panic!("{:?}", other.map(drop)),
    };
    let none = Projector::builder(0).tag("a");
    assert_eq!(field(none), ("handlers".to_owned(), Problem::Empty));
    let twice = named("A").on("B", |_, _| ()).on_json("A", |_, (): ()| ());
    let problem = Problem::Duplicate {
        key: "A".to_owned(),
    };
    assert_eq!(field(twice), ("handlers".to_owned(), problem));
    assert_eq!(field(named("")), ("type".to_owned(), Problem::Empty));
    assert_eq!(
        field(named("A").tag("")),
        ("tags".to_owned(), Problem::Empty)
    );
}

#[tokio::test]
async fn handlers_may_be_functions() {
    fn count(count: &mut u32, _: &SequencedEvent) {
        *count += 1;
    }
    fn add(sum: &mut u32, number: u32) {
        *sum += number;
    }
    let store = MemoryStore::new();
    let number = Event::builder("Numbered").json(&7).build().unwrap();
    store.append([event(), number]).await.unwrap();
    let both = Projector::builder(0)
        .on("Happened", count)
        .on_json("Numbered", add);
    let projected = store.project(&both.build().unwrap()).await.unwrap();
    assert_eq!(projected.state, 8);
}

/// The error of a handler reaches the caller, and nothing is appended on the partial state.
#[tokio::test]
async fn failed_handler_ends_a_decision() {
    let store = MemoryStore::new();
    store.append(event()).await.unwrap();
    let closed = Projector::builder(0).try_on("Happened", |_, _| Err(Fault::Closed.into()));
    let model = DecisionModel::new(closed.build().unwrap());
    let answer = model.decide(&store, |_| Ok::<_, Error>(event())).await;
    assert!(matches!(answer, Err(Error::Fault(Fault::Closed))));
    assert_eq!(store.stats().events, 1);
}

/// A store whose whole reads at once go to a replica that is behind.
struct Lagging {
    store: MemoryStore,
    replica: MemoryStore,
}

impl EventStore for Lagging {
    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        self.replica.query(query, options).await
    }

    dcb_core::forward_event_store! { self { Self { store, .. } => store }
        submit query_stream head count exists tracked commands projection_limit health stats close
    }
}

/// The last event comes from an older snapshot than the others. The condition must not skip the
/// events in between, or the append would overlook the newer last event.
#[tokio::test]
async fn last_event_from_a_lagging_replica_conflicts_with_newer_ones() {
    let tagged = |tag: &str| Event::builder("Happened").tag(tag).build().unwrap();
    let (store, replica) = (MemoryStore::new(), MemoryStore::new());
    for (id, tag) in (1..).zip(["a", "b", "a"]) {
        let event = tagged(tag).with_id(Uuid::from_u128(id));
        store.append(event.clone()).await.unwrap();
        if id < 3 {
            replica.append(event).await.unwrap();
        }
    }
    let lagging = Lagging { store, replica };
    let query = |tag: &str| Query::builder().tag(tag).build().unwrap();
    let last = Projector::new(query("a"), 0, |last, event| *last = event.position().get());
    let projection = (Projector::counter(query("b")), last.last_only());
    let projected = lagging.project(&projection).await.unwrap();
    assert_eq!(projected.state, (1, 1));
    let after = Bookmark::position_of(projected.condition.after);
    assert_eq!(after, Position::new(2));
    let refused = lagging.append_if(tagged("c"), projected.condition).await;
    assert!(
        matches!(&refused, Err(Error::Conflict { position, .. }) if position.get() == 3),
        "{refused:?}"
    );
}
