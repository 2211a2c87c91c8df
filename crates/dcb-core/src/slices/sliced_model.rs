//! The life of a version: built beside another one, put in its place, thrown away; and its parked events.

use std::future::Future;
use std::time::Duration;

use super::model::Model;
use super::standing::{Meet, Wait, stand_in_pairs, stand_together};
use crate::{Error, EventStore, Query, ReadOptions};

/// A version of a sliced projection: `postgres::SlicedReadModel` or `sqlite::SlicedReadModel`. Clones share
/// the projection, and each opens a connection.
///
/// A version that is built never passes the current one, slice by slice, and does not react to events. So
/// each event is reacted to once: by the current version up to the swap, and by the new one from there on.
pub trait SlicedModel: Model {
    /// Makes this version the current one, as soon as all slices of both stand at one position. Both must
    /// run meanwhile, or have caught up; see [`SlicedModel::take_over`] for a version that can't. In the
    /// same transaction the other version retires, and `Handler::make_current` shows this one to readers.
    /// Members of the retired version end with [`Error::Superseded`]. This version does not react to the
    /// events that the other has parked or skipped.
    ///
    /// # Errors
    /// [`Fault::TimedOut`](crate::Fault) if that takes longer than `limit`; [`Error::Superseded`] if this
    /// version is retired; [`Error::Handler`]; [`Error::Fault`] from the database. Nothing has changed
    /// then.
    fn promote(&mut self, limit: Duration) -> impl Future<Output = Result<(), Error>> + Send {
        promote_if(self, stand_together, limit)
    }

    /// As [`SlicedModel::promote`], for a current version that has ended with its slices at different
    /// positions, or that has slices that have stopped. Each slice of this version takes over where that
    /// of the other stands, and reacts to the events from there on. Both versions must have the same key
    /// and the same number of slices; a version with another key would react to events twice, or not at
    /// all.
    ///
    /// # Errors
    /// Those of [`SlicedModel::promote`]; [`Error::Invalid`] with field `slices` if the versions have
    /// different numbers of slices: resize one of them first.
    fn take_over(&mut self, limit: Duration) -> impl Future<Output = Result<(), Error>> + Send {
        promote_if(self, stand_in_pairs, limit)
    }

    /// Throws this version away: its checkpoints, and its tables by `Handler::reset`. Members that still
    /// run end with [`Error::Superseded`].
    ///
    /// # Errors
    /// [`Error::Handler`]; [`Error::Fault`] from the database. Nothing has changed then.
    fn discard(&mut self) -> impl Future<Output = Result<(), Error>> + Send {
        self.throw_away()
    }

    /// Handles the parked events of a key in order, and returns their number. Then the key goes on. Call
    /// it while members run or not, in one program at a time.
    ///
    /// # Errors
    /// [`Error::Handler`] if the handler fails again: this event and those behind it stay parked. An
    /// error of the log or the database.
    fn replay(
        &mut self,
        store: &impl EventStore,
        key: &str,
    ) -> impl Future<Output = Result<u64, Error>> + Send {
        async move {
            let mut replayed = 0;
            while let Some(position) = self.next_parked(key).await? {
                let one = ReadOptions::new().from(position).limit(1);
                let events = store.query(&Query::all(), one).await?.events;
                let event = events
                    .into_iter()
                    .find(|event| event.position() == position)
                    .ok_or(Error::PastReplaced { position })?;
                replayed += u64::from(self.replay_one(event).await?);
            }
            Ok(replayed)
        }
    }
}

impl<M: Model> SlicedModel for M {}

async fn promote_if(model: &mut impl Model, meet: Meet, limit: Duration) -> Result<(), Error> {
    let wait = Wait::new("promotion of a projection", limit);
    while !model.try_to_promote(meet).await? {
        wait.pause().await?;
    }
    Ok(())
}
