//! The state of rows that read: a store on a log without writers.

use super::log::{Log, Store};
use bench::{AsyncOp, BoxError, Op};
use dcb_core::postgres::Config;
use dcb_core::{Bookmark, EventStore as _, Position, ReadOptions};
use std::fmt::Debug;

/// A store, and the start of the 100 past events in its log.
pub(crate) struct Reader {
    pub(crate) store: Store,
    /// The position before the past events; `None` if the log holds no other events.
    pub(crate) after: Option<Bookmark>,
}

impl Reader {
    /// A set-up with the default configuration.
    pub(crate) fn on(log: &Log) -> AsyncOp<Self> {
        Self::configured(log, |_| ())
    }

    /// A set-up with the default configuration with the changes of `change`.
    pub(crate) fn configured(log: &Log, change: fn(&mut Config)) -> AsyncOp<Self> {
        Op::given(log, move |log| async move {
            let store = Store::configured(log.database().await?, change).await?;
            let head = store
                .events
                .head()
                .await?
                .map_or(0, |head| head.position.get());
            let after = Position::new(head.saturating_sub(log.content().past_events()));
            let after = after.map(Bookmark::from);
            Ok(Self { store, after })
        })
    }

    /// Options that select the past events only.
    pub(crate) fn past(&self) -> ReadOptions {
        ReadOptions::new().after(self.after)
    }
}

/// Ends the run if a call did not return the value that its row expects.
pub(crate) fn expect<T: Copy + PartialEq + Debug>(seen: T, expected: T) -> Result<(), BoxError> {
    if seen == expected {
        Ok(())
    } else {
        Err(format!("a call returned {seen:?}, expected {expected:?}").into())
    }
}
