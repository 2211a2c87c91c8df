//! Warm and cold decisions: a lone caller sells tickets, with a store that keeps what it knows of the
//! boundary, and with one that reads it for each decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use dcb_core::{
    DecisionModel, Error, Event, EventStore, EventStream, Events as Read, Lanes, Projector, Query,
    ReadOptions,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::board::fresh_suffix;
use crate::stores::Events;
use store_http::ApiError;
use store_http::input::parse;

const MAX_SOLD: u32 = 5_000;
const MAX_DECISIONS: u32 = 500;
const SOLD: &str = "TicketSold";

/// Held during a sale, so that only one runs at a time.
pub(super) type Start = Mutex<()>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Events of the boundary before the first decision.
    sold: u32,
    decisions: u32,
}

/// The result with each of the stores.
#[derive(Debug, Serialize)]
pub(super) struct Sale {
    sold: u32,
    decisions: u32,
    cold: Outcome,
    warm: Outcome,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    /// The tickets that the last decision saw, which tells that it saw all events.
    seen: u64,
    reads: u64,
    decisions_per_second: f64,
    reads_per_second: f64,
    duration_ms: f64,
}

/// `POST /demo/decisions`.
pub(super) async fn run(
    State(events): State<Events>,
    start: Arc<Start>,
    body: Bytes,
) -> Result<Json<Sale>, ApiError> {
    let Request { sold, decisions } = parse(&body)?;
    check("sold", sold, 0, MAX_SOLD)?;
    check("decisions", decisions, 1, MAX_DECISIONS)?;
    let _only_one = start.try_lock().map_err(|_| {
        ApiError::new(
            StatusCode::CONFLICT,
            "SALE_UNDER_WAY",
            "another sale is running",
        )
    })?;
    Ok(Json(Sale {
        sold,
        decisions,
        cold: sell(&events, Lanes::with_cache(0), sold, decisions).await?,
        warm: sell(&events, Lanes::new(), sold, decisions).await?,
    }))
}

fn check(field: &str, number: u32, min: u32, max: u32) -> Result<(), ApiError> {
    if (min..=max).contains(&number) {
        return Ok(());
    }
    let message = format!("{field} must be from {min} to {max}");
    Err(ApiError::invalid_field(field, message))
}

/// Sells tickets of a new boundary, each by a decision on how many are sold.
async fn sell(events: &Events, lanes: Lanes, sold: u32, decisions: u32) -> Result<Outcome, Error> {
    let tag = format!("sale:{}", fresh_suffix());
    let ticket = Event::builder(SOLD).tag(&tag).build()?;
    for batch in batches(sold) {
        events.append(vec![ticket.clone(); batch]).await?;
    }
    let store = Counted::new(events.clone(), lanes);
    let started = Instant::now();
    let mut seen = 0;
    for _ in 0..decisions {
        let tickets = Query::builder().event_type(SOLD).tag(&tag).build()?;
        let decide = |sold| {
            seen = sold;
            Ok::<_, Error>(ticket.clone())
        };
        let model = DecisionModel::new(Projector::counter(tickets));
        model.decide(&store, decide).await?;
    }
    let duration = started.elapsed();
    let reads = store.reads.load(Ordering::Relaxed);
    Ok(Outcome {
        seen,
        reads,
        decisions_per_second: f64::from(decisions) / duration.as_secs_f64(),
        reads_per_second: reads as f64 / duration.as_secs_f64(),
        duration_ms: duration.as_secs_f64() * 1000.0,
    })
}

/// The sizes of the appends that fill a boundary.
fn batches(events: u32) -> impl Iterator<Item = usize> {
    const BATCH: usize = 500;
    let events = events as usize;
    (0..events)
        .step_by(BATCH)
        .map(move |from| BATCH.min(events - from))
}

/// The store with separate lanes. Counts reads.
#[derive(Clone)]
struct Counted {
    store: Events,
    lanes: Lanes,
    reads: Arc<AtomicU64>,
}

impl Counted {
    fn new(store: Events, lanes: Lanes) -> Self {
        Self {
            store,
            lanes,
            reads: Arc::default(),
        }
    }

    fn count(&self) {
        // Relaxed: the number is read after the last decision.
        self.reads.fetch_add(1, Ordering::Relaxed);
    }
}

impl EventStore for Counted {
    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        self.count();
        self.store.query_stream(query, options).await
    }

    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Read, Error> {
        self.count();
        self.store.query(query, options).await
    }

    fn lanes(&self) -> Option<&Lanes> {
        Some(&self.lanes)
    }

    dcb_core::forward_event_store! { self { Self { store, .. } => store }
        submit head count extent exists tracked commands
        projection_limit outage notifications health stats close
    }
}
