use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::Projector;
use super::projector::Apply;
use crate::text::invalid;
use crate::{Error, Problem, Query, QueryBuilder, SequencedEvent};

/// Builds a [`Projector`] from one handler for each event type. The query selects exactly the types
/// that have a handler, narrowed by tags. [`ProjectorBuilder::build`] reports the first problem.
///
/// A handler is a closure or a function. It gets the state and the event
/// ([`ProjectorBuilder::on`]), or the state and the event's data ([`ProjectorBuilder::on_json`]).
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::{Event, EventStore, MemoryStore, Projector};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct CourseDefined { capacity: u32 }
///
/// #[derive(Deserialize)]
/// struct CapacityChanged { new_capacity: u32 }
///
/// let capacity = Projector::builder(0)
///     .on_json("CourseDefined", |capacity, course: CourseDefined| *capacity = course.capacity)
///     .on_json("CapacityChanged", |capacity, change: CapacityChanged| {
///         *capacity = change.new_capacity;
///     })
///     .tag_pair("course", "c1")
///     .build()?;
///
/// let store = MemoryStore::new();
/// let defined = Event::builder("CourseDefined").tag("course:c1").data(r#"{"capacity":30}"#);
/// store.append(defined.build()?).await?;
/// assert_eq!(store.project(&capacity).await?.state, 30);
/// # Ok(()) }
/// ```
#[must_use]
pub struct ProjectorBuilder<S> {
    initial: S,
    handlers: Vec<Handler<S>>,
    query: QueryBuilder,
    last_only: bool,
}

struct Handler<S> {
    event_type: String,
    apply: Apply<S>,
}

impl<S> ProjectorBuilder<S> {
    pub(super) fn new(initial: S) -> Self {
        Self {
            initial,
            handlers: Vec::new(),
            query: Query::builder(),
            last_only: false,
        }
    }

    /// Requires this tag.
    pub fn tag(mut self, tag: impl Display) -> Self {
        self.query = self.query.tag(tag);
        self
    }

    /// Requires the tag `key:value`.
    pub fn tag_pair(mut self, key: &str, value: impl Display) -> Self {
        self.query = self.query.tag_pair(key, value);
        self
    }

    /// Requires these tags.
    pub fn tags<T: Display>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.query = self.query.tags(tags);
        self
    }

    /// Applies only the last event, to the initial state. See [`Projector::last_only`].
    pub fn last_only(mut self) -> Self {
        self.last_only = true;
        self
    }
}

impl<S: Clone + Send + Sync + 'static> ProjectorBuilder<S> {
    /// Handles the events of this type.
    pub fn on(
        self,
        event_type: &str,
        handler: impl Fn(&mut S, &SequencedEvent) + Send + Sync + 'static,
    ) -> Self {
        self.try_on(event_type, move |state, event| {
            handler(state, event);
            Ok(())
        })
    }

    /// Handles the data of the events of this type, decoded from JSON.
    ///
    /// If the data of an event is not JSON of this shape, the projection fails with
    /// [`Error::Unreadable`].
    pub fn on_json<T: DeserializeOwned>(
        self,
        event_type: &str,
        handler: impl Fn(&mut S, T) + Send + Sync + 'static,
    ) -> Self {
        self.try_on(event_type, move |state, event| {
            handler(state, event.json()?);
            Ok(())
        })
    }

    /// Handles the events of this type. An error of the handler ends the projection.
    ///
    /// ```
    /// # fn main() -> Result<(), dcb_core::Error> {
    /// use dcb_core::Projector;
    ///
    /// // A price with the time at which it began.
    /// let price = Projector::builder(None)
    ///     .try_on("PriceChanged", |price, event| {
    ///         *price = Some((event.json::<u32>()?, event.recorded_at()));
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// # let _ = price;
    /// # Ok(()) }
    /// ```
    pub fn try_on(
        mut self,
        event_type: &str,
        handler: impl Fn(&mut S, &SequencedEvent) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        self.query = self.query.event_type(event_type);
        self.handlers.push(Handler {
            event_type: event_type.to_owned(),
            apply: Arc::new(handler),
        });
        self
    }

    /// Checks the names and returns the projector.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `handlers` if there is none or a type has two; with `type` or
    /// `tags` if one is invalid.
    pub fn build(self) -> Result<Projector<S>, Error> {
        check(&self.handlers)?;
        let handlers = self.handlers;
        let apply = move |state: &mut S, event: &SequencedEvent| {
            let mut handlers = handlers.iter();
            match handlers.find(|handler| event.is_of_type(&handler.event_type)) {
                Some(handler) => (handler.apply)(state, event),
                None => Ok(()),
            }
        };
        let projector = Projector::fallible(self.query.build()?, self.initial, Arc::new(apply));
        Ok(match self.last_only {
            true => projector.last_only(),
            false => projector,
        })
    }
}

/// Without a handler, the query would select every type. Of two handlers of one type, only the first
/// would run.
fn check<S>(handlers: &[Handler<S>]) -> Result<(), Error> {
    let problem = match handlers {
        [] => Some(Problem::Empty),
        _ => repeated(handlers).map(|key| Problem::Duplicate { key }),
    };
    problem.map_or(Ok(()), |problem| Err(invalid("handlers")(problem)))
}

fn repeated<S>(handlers: &[Handler<S>]) -> Option<String> {
    let mut seen = HashSet::new();
    let mut types = handlers.iter().map(|handler| &handler.event_type);
    types.find(|name| !seen.insert(*name)).cloned()
}
