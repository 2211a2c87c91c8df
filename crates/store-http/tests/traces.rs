//! One trace from an HTTP request over an event or a message to what handles it.

use std::sync::{Arc, LazyLock, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use dcb_core::sqlite::{Config, Handler, SqliteReadModel, SqliteStore, Transaction};
use dcb_core::{
    Decided, DecisionModel, Event, EventStore as _, HandlerError, MemoryStore, ProjectionRunner,
    Projector, Query, ReadOptions, SequencedEvent, SubscribeOptions, span_of,
};
use message_store::{
    Category, ExpectedVersion, Message, MessageRunner, MessageStore as _, StreamName,
};
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    TracerProvider as _,
};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use store_http::{Limits, Service, dcb};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tracing::{Instrument as _, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// All spans of this process that have ended.
static SPANS: LazyLock<InMemorySpanExporter> = LazyLock::new(|| {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone());
    let tracer = provider.build().tracer("test");
    let layer = tracing_opentelemetry::layer().with_tracer(tracer);
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::set_global_default(subscriber).expect("no other subscriber");
    exporter
});

/// The ended spans with this name in a trace.
fn spans(trace: TraceId, name: &str) -> Vec<SpanData> {
    let mut all = SPANS.get_finished_spans().expect("spans");
    all.retain(|span| span.span_context.trace_id() == trace && span.name == name);
    all
}

fn one(trace: TraceId, name: &str) -> SpanData {
    let mut found = spans(trace, name);
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.remove(0)
}

/// A span of a trace that no other test has.
fn root(name: &'static str) -> (Span, TraceId) {
    LazyLock::force(&SPANS);
    let span = info_span!(parent: None, "root", otel.name = name);
    let trace = span.context().span().span_context().trace_id();
    (span, trace)
}

fn event() -> Event {
    Event::builder("Opened").build().expect("an event")
}

/// A read model that counts, with a span around each batch.
struct Count;

impl Handler for Count {
    fn handle(
        &mut self,
        tables: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let _span = info_span!("count").entered();
        tables.execute(
            "UPDATE opened SET number = number + ?1",
            [events.len() as i64],
        )?;
        Ok(())
    }

    fn reset(&mut self, tables: &Transaction<'_>) -> Result<(), HandlerError> {
        tables.execute("UPDATE opened SET number = 0", [])?;
        Ok(())
    }
}

fn count() -> Result<SqliteReadModel<Count>, BoxError> {
    let tables = rusqlite::Connection::open_in_memory()?;
    tables.execute_batch("CREATE TABLE opened (number); INSERT INTO opened VALUES (0)")?;
    Ok(SqliteReadModel::on_connection(
        Arc::new(Mutex::new(tables)),
        "opened",
        Count,
    )?)
}

/// Handles each request in a span that continues the caller's trace, as the layers for axum do.
async fn in_span(request: Request, next: Next) -> Response {
    let header = request.headers().get("traceparent");
    let fields: Vec<&str> = header
        .and_then(|text| text.to_str().ok())
        .unwrap_or_default()
        .split('-')
        .collect();
    let span = info_span!(parent: None, "request", otel.kind = "server");
    if let [_, trace, parent, _] = fields[..] {
        let (trace, parent) = (TraceId::from_hex(trace), SpanId::from_hex(parent));
        let (trace, parent) = (trace.expect("a trace"), parent.expect("a span"));
        let caller = SpanContext::new(
            trace,
            parent,
            TraceFlags::SAMPLED,
            true,
            TraceState::default(),
        );
        let caller = opentelemetry::Context::new().with_remote_span_context(caller);
        span.set_parent(caller).expect("the layer is there");
    }
    next.run(request).instrument(span).await
}

#[tokio::test]
async fn a_trace_goes_from_a_request_over_an_event_to_a_read_model() -> Result<(), BoxError> {
    LazyLock::force(&SPANS);
    let store = dcb_core::AnyStore::open("memory:").await?;
    let service = Service::new(&Limits::default(), Arc::new(()));
    let events = dcb::router(store.clone(), dcb::Options::default(), &service);
    let app = service
        .protect(Router::new().nest("/dcb", events))
        .layer(from_fn(in_span));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move { axum::serve(listener, app).await });

    let trace = TraceId::from_hex("4bf92f3577b34da6a3ce929d0e0e4736")?;
    let body = r#"{"events":{"type":"Opened","data":"{}","tags":[]}}"#;
    let request = format!(
        "POST /dcb/append HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\ntraceparent: 00-{trace}-00f067aa0ba902b7-01\r\n\r\n{body}",
        body.len()
    );
    let mut connection = TcpStream::connect(address).await?;
    connection.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.abort();

    // Another process would do this, perhaps much later.
    ProjectionRunner::new(store, Query::all(), count()?)
        .catch_up()
        .await?;
    let (request, apply, count) = (
        one(trace, "request"),
        one(trace, "apply"),
        one(trace, "count"),
    );
    assert_eq!(
        request.parent_span_id,
        SpanId::from_hex("00f067aa0ba902b7")?
    );
    assert_eq!(apply.parent_span_id, request.span_context.span_id());
    assert_eq!(apply.span_kind, SpanKind::Consumer);
    assert_eq!(count.parent_span_id, apply.span_context.span_id());
    Ok(())
}

#[tokio::test]
async fn a_batch_of_two_traces_has_links_to_both() -> Result<(), BoxError> {
    let store = MemoryStore::new();
    let (first, first_trace) = root("first");
    let (second, second_trace) = root("second");
    let ids = [&first, &second].map(|span| span.context().span().span_context().span_id());
    store.append([event(), event()]).instrument(first).await?;
    store.append(event()).instrument(second).await?;
    store.append(event()).await?;

    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    let batch = events.next_batch().await.expect("a batch")?;
    let traced = batch
        .events
        .iter()
        .map(|event| event.metadata_value(Event::TRACEPARENT));
    assert_eq!(
        traced.map(|trace| trace.is_some()).collect::<Vec<_>>(),
        [true, true, true, false]
    );
    let span = span_of("mail", &batch.events);
    let trace = span.context().span().span_context().trace_id();
    drop(span);
    let mail = one(trace, "mail");
    assert!(
        trace != first_trace && trace != second_trace,
        "a trace of the batch"
    );
    let links: Vec<_> = mail
        .links
        .iter()
        .map(|link| link.span_context.span_id())
        .collect();
    assert_eq!(links, ids, "each append once");
    // An event without a trace has no span.
    assert!(span_of("mail", &batch.events[3..]).is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_in_one_commit_keep_their_own_traces() -> Result<(), BoxError> {
    const CALLERS: usize = 200;
    let folder = tempfile::tempdir()?;
    let config = Config::file(folder.path().join("events.sqlite"));
    let store = SqliteStore::open(config).await?;
    let mut deciding = tokio::task::JoinSet::new();
    for caller in 0..CALLERS {
        let store = store.clone();
        let (span, trace) = root("decide");
        // Every second caller has no span, so its event gets none of another caller.
        let (span, trace) = match caller % 2 {
            0 => (span, Some(trace.to_string())),
            _ => (Span::none(), None),
        };
        deciding.spawn(async move {
            let model = DecisionModel::new(Projector::counter(Query::all()));
            let decided: Decided = model
                .decide(&store, |_| Ok::<_, dcb_core::Error>(event()))
                .instrument(span)
                .await
                .expect("decided");
            (decided.appended.expect("an event").first(), trace)
        });
    }
    let decided = deciding.join_all().await;
    let commits = store.stats().commits;
    assert!(
        commits < CALLERS as u64,
        "some commits had several decisions: {commits}"
    );
    let log = store.query(&Query::all(), ReadOptions::new()).await?.events;
    for (position, trace) in decided {
        let event = log.iter().find(|event| event.position() == position);
        let stored = event.expect("the event").metadata_value(Event::TRACEPARENT);
        assert_eq!(stored.map(|trace| trace[3..35].to_owned()), trace);
    }
    Ok(())
}

#[tokio::test]
async fn what_another_log_recorded_and_a_trace_of_its_own_are_kept() -> Result<(), BoxError> {
    let store = MemoryStore::new();
    let imported = Event::builder("Opened")
        .recorded_at(std::time::UNIX_EPOCH)
        .build()?;
    let own = Event::builder("Opened")
        .metadata(Event::TRACEPARENT, "own")
        .build()?;
    let (span, _) = root("import");
    store.append([imported, own]).instrument(span).await?;
    let log = store.query(&Query::all(), ReadOptions::new()).await?.events;
    assert_eq!(log[0].metadata_value(Event::TRACEPARENT), None);
    assert_eq!(log[1].metadata_value(Event::TRACEPARENT), Some("own"));
    Ok(())
}

#[tokio::test]
async fn a_repeat_in_another_trace_is_the_same_event() -> Result<(), BoxError> {
    let store = MemoryStore::new();
    let event = event().with_id(uuid::Uuid::from_u128(1));
    let (first, trace) = root("first try");
    let appended = store.append(event.clone()).instrument(first).await?;
    let (second, _) = root("second try");
    assert_eq!(
        store.append(event.clone()).instrument(second).await?,
        appended
    );
    assert_eq!(store.append(event).await?, appended);
    let log = store.query(&Query::all(), ReadOptions::new()).await?.events;
    assert_eq!(log.len(), 1);
    let stored = log[0].metadata_value(Event::TRACEPARENT).expect("a trace");
    assert_eq!(stored[3..35], trace.to_string());
    Ok(())
}

#[tokio::test]
async fn a_trace_goes_over_a_message_to_its_handler() -> Result<(), BoxError> {
    let store = message_store::AnyStore::open("memory:").await?;
    let stream = StreamName::new("account-1")?;
    let (span, trace) = root("write");
    let message = || {
        Message::builder("Opened")
            .metadata_json(r#"{ "by":"me"}"#)
            .build()
    };
    store
        .write_message(&stream, message()?, ExpectedVersion::Any)
        .instrument(span)
        .await?;
    let batch = vec![message()?];
    store
        .write_batch(&stream, batch, ExpectedVersion::Any)
        .await?;

    let accounts = Category::new("account")?;
    let mut mail = MessageRunner::new(store.clone(), "mail", accounts, |message| async move {
        let _span = info_span!("mail").entered();
        assert!(
            message
                .metadata_json()
                .is_some_and(|text| text.ends_with(r#""by":"me"}"#))
        );
        Ok(())
    })?;
    mail.catch_up().await?;
    assert_eq!(mail.progress().handled(), 2);
    let written = one(trace, "messages.write_message");
    let (handle, mail) = (one(trace, "handle"), one(trace, "mail"));
    assert_eq!(handle.parent_span_id, written.span_context.span_id());
    assert_eq!(mail.parent_span_id, handle.span_context.span_id());
    Ok(())
}
