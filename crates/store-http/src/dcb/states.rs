use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use axum::http::StatusCode;
use dcb_core::{
    AnyStore, Bookmark, Error, EventStore as _, Position, Projection, ProjectionStream, ReadOptions,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::error::ApiError;

/// The named projections whose states the router serves, each for a key and a position. None by default.
///
/// ```
/// use dcb_core::{Error, Projector};
/// use serde_json::json;
/// use store_http::dcb::{Options, States};
///
/// fn course(id: &str) -> Result<Projector<u32>, Error> {
///     let taken = Projector::builder(0).on("EnrollmentCompleted", |taken, _| *taken += 1);
///     taken.tag_pair("course_id", id).build()
/// }
///
/// let states = States::new().with("course", course, |taken| json!({ "taken": taken }));
/// let options = Options { states, ..Options::default() };
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct States {
    named: BTreeMap<String, Arc<Fold>>,
    max_events: u64,
}

/// Folds the events of a key.
type Fold = dyn Fn(Asked) -> BoxFuture<'static, Result<StateAt, ApiError>> + Send + Sync;

/// A request for a state.
pub(super) struct Asked {
    pub(super) events: AnyStore,
    pub(super) key: String,
    /// The last position, 0 before the first event; `None` for the head.
    pub(super) at: Option<Option<Position>>,
    max_events: u64,
}

/// The state of a key at a position.
pub(super) struct StateAt {
    pub(super) state: Value,
    pub(super) position: Option<Position>,
    /// Number of events that the state was folded from, and the position of the last of them.
    pub(super) events: u64,
    pub(super) last: Option<Position>,
    /// The first event after the position that may change the state.
    pub(super) next: Option<Position>,
}

impl States {
    /// The default of [`States::max_events`].
    const MAX_EVENTS: u64 = 1_000_000;

    /// No projection.
    pub fn new() -> Self {
        Self {
            named: BTreeMap::new(),
            max_events: Self::MAX_EVENTS,
        }
    }

    /// Serves a projection under this name. `projection` makes it for a key: if it returns
    /// [`Error::Invalid`], the answer is 400. `show` makes the JSON of the answer.
    #[must_use]
    pub fn with<P: Projection<State: 'static> + 'static>(
        mut self,
        name: impl Into<String>,
        projection: impl Fn(&str) -> Result<P, Error> + Send + Sync + 'static,
        show: fn(P::State) -> Value,
    ) -> Self {
        let fold = move |asked: Asked| -> BoxFuture<'static, _> {
            let projection = projection(&asked.key).map_err(of_key);
            Box::pin(async move { asked.fold(&projection?, show).await })
        };
        self.named.insert(name.into(), Arc::new(fold));
        self
    }

    /// Maximum number of events that an answer may depend on; more get 422. 1,000,000. They take time and no
    /// memory.
    #[must_use]
    pub fn max_events(mut self, max_events: u64) -> Self {
        self.max_events = max_events;
        self
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// The state of the projection with this name.
    pub(super) async fn state(
        &self,
        name: &str,
        events: AnyStore,
        key: String,
        at: Option<Option<Position>>,
    ) -> Result<StateAt, ApiError> {
        let fold = self.named.get(name).ok_or_else(|| {
            ApiError::new(
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                "no projection has this name",
            )
        })?;
        let max_events = self.max_events;
        fold(Asked {
            events,
            key,
            at,
            max_events,
        })
        .await
    }
}

impl Asked {
    async fn fold<P: Projection>(
        &self,
        projection: &P,
        show: fn(P::State) -> Value,
    ) -> Result<StateAt, ApiError> {
        let projecting = match self.at {
            Some(last) => self.events.project_at(projection, last).await,
            None => self.events.project_stream(projection, None).await,
        };
        let mut projecting = projecting?;
        let (events, last) = self.read(&mut projecting).await?;
        let projected = projecting.finish().await?;
        let position = Bookmark::position_of(projected.condition.after);
        // Not `after` the position: a replica that is behind would refuse it.
        let next = position.map_or(Position::FIRST, Position::next);
        let next = ReadOptions::new().from(next).limit(1);
        let boundary = &projected.condition.fail_if_events_match;
        let next = self.events.query(boundary, next).await?;
        Ok(StateAt {
            state: show(projected.state),
            position,
            events,
            last,
            next: next.events.first().map(|event| event.position()),
        })
    }

    /// Folds the events, within the limit. Returns their number and the position of the last one.
    async fn read<P: Projection>(
        &self,
        projecting: &mut ProjectionStream<'_, P>,
    ) -> Result<(u64, Option<Position>), ApiError> {
        let (mut events, mut last) = (0, None);
        while let Some(step) = projecting.next().await {
            let (_, event) = step.map_err(of_event)?;
            events += 1;
            last = Some(event.position());
            if events > self.max_events {
                return Err(too_many(self.max_events));
            }
        }
        Ok((events, last))
    }
}

/// The error of a projection that can't be made for the key.
fn of_key(error: Error) -> ApiError {
    match error {
        Error::Invalid { .. } => ApiError::invalid_field("key", format!("key: {error}")),
        error => error.into(),
    }
}

/// The error of an event that can't be folded.
fn of_event(error: Error) -> ApiError {
    let position = match &error {
        Error::Unreadable { position, .. }
        | Error::Upcast { position, .. }
        | Error::VersionTooNew { position, .. } => position.get(),
        _ => return error.into(),
    };
    unprocessable("UNREADABLE_EVENT", error.to_string())
        .with_details(json!({ "position": position }))
}

fn too_many(max: u64) -> ApiError {
    let message = format!("the state depends on more than {max} events, the maximum for an answer");
    unprocessable("TOO_MANY_EVENTS", message).with_details(json!({ "max": max }))
}

fn unprocessable(code: &'static str, message: String) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
}

impl Default for States {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for States {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("States")
            .field("named", &self.named.keys())
            .field("max_events", &self.max_events)
            .finish()
    }
}
