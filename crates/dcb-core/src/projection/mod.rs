//! Folds of events into the state that a decision depends on.

mod builder;
mod kept;
mod last_events;
mod limit;
mod projector;
mod reads;
mod stored;
mod stream;

pub use builder::ProjectorBuilder;
pub(crate) use kept::KeptAs;
pub use kept::KeptState;
pub(crate) use last_events::LastEvents;
pub use limit::{ProjectionLimit, ProjectionPermit};
pub use projector::Projector;
pub use reads::Reads;
pub(crate) use stored::Folding;
pub use stored::{StateOptions, StoredFold};
pub use stream::ProjectionStream;
pub(crate) use stream::{Part, events};

use crate::text::invalid;
use crate::{AppendCondition, Error, Problem, SequencedEvent};

/// A fold over the events of one or several queries.
///
/// [`Projector`] implements it. Tuples and vectors of projections are projections too, so several
/// can share one read of one snapshot.
pub trait Projection: Send + Sync {
    /// The folded state.
    type State: Send;

    /// The reads that return the events that the state depends on.
    fn reads(&self) -> Reads;

    /// Checks that the projection depends on certain events. Every read of a projection checks this
    /// first.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `projections` if a list of projections is empty. Such a list
    /// depends on no event, and its condition can't be built, because every query selects some
    /// events.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The state before the first event, and the result if no event matches.
    fn initial(&self) -> Self::State;

    /// The state in the form that a store keeps instead of the events. `None`, the default, keeps the
    /// events. Use it with [`Reads::kept_as`]; [`Projector::keep`] does both.
    ///
    /// The state must be the fold of all events of [`Projection::reads`] so far, whichever value of the
    /// projection has folded them.
    fn keep(&self, state: &Self::State) -> Option<KeptState> {
        let _ = state;
        None
    }

    /// The state that [`Projection::keep`] has kept. `None` if it can't be used; then the events are read
    /// again.
    fn kept(&self, kept: &KeptState) -> Option<Self::State> {
        let _ = kept;
        None
    }

    /// The fold of the state that the store also keeps in its database, so that a process that starts reads
    /// only what is new. `None`, the default, keeps none there. Use it with [`Projection::keep`] and
    /// [`Reads::stored`]; [`Projector::keep_stored`] does all.
    fn stored(&self) -> Option<StoredFold> {
        None
    }

    /// Applies `event` to `state` if it matches; ignores it otherwise. Events come in the order of
    /// the log.
    ///
    /// # Errors
    /// Any error; it ends the projection.
    fn apply(&self, state: &mut Self::State, event: &SequencedEvent) -> Result<(), Error>;

    /// Applies an event that [`Projection::reads`] has returned, not merged with the reads of another
    /// projection. The default calls [`Projection::apply`]. A projection that matches each such event
    /// need not compare it.
    ///
    /// # Errors
    /// As [`Projection::apply`].
    fn apply_read(&self, state: &mut Self::State, event: &SequencedEvent) -> Result<(), Error> {
        self.apply(state, event)
    }
}

impl<P: Projection> Projection for Vec<P> {
    type State = Vec<P::State>;

    fn reads(&self) -> Reads {
        self.iter()
            .map(Projection::reads)
            .fold(Reads::none(), Reads::and)
    }

    fn check(&self) -> Result<(), Error> {
        if self.is_empty() {
            return Err(invalid("projections")(Problem::Empty));
        }
        self.iter().try_for_each(Projection::check)
    }

    fn initial(&self) -> Self::State {
        self.iter().map(Projection::initial).collect()
    }

    fn apply(&self, state: &mut Self::State, event: &SequencedEvent) -> Result<(), Error> {
        let mut each = self.iter().zip(state);
        each.try_for_each(|(projection, state)| projection.apply(state, event))
    }
}

macro_rules! tuple_projection {
    ($($name:ident $index:tt),+) => {
        impl<$($name: Projection),+> Projection for ($($name,)+) {
            type State = ($($name::State,)+);

            fn reads(&self) -> Reads {
                [$(self.$index.reads()),+].into_iter().fold(Reads::none(), Reads::and)
            }

            fn check(&self) -> Result<(), Error> {
                $(self.$index.check()?;)+
                Ok(())
            }

            fn initial(&self) -> Self::State {
                ($(self.$index.initial(),)+)
            }

            fn apply(&self, state: &mut Self::State, event: &SequencedEvent) -> Result<(), Error> {
                $(self.$index.apply(&mut state.$index, event)?;)+
                Ok(())
            }
        }
    };
}

tuple_projection!(A 0);
tuple_projection!(A 0, B 1);
tuple_projection!(A 0, B 1, C 2);
tuple_projection!(A 0, B 1, C 2, D 3);
tuple_projection!(A 0, B 1, C 2, D 3, E 4);
tuple_projection!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple_projection!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_projection!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// The state of a projection and the condition that protects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projected<S> {
    /// The folded state.
    pub state: S,
    /// Makes an append fail if an event that was appended after the snapshot matches a query of the
    /// projection.
    pub condition: AppendCondition,
}
