//! The state of rows that read: a store on a log that nobody writes to.

use super::log::{Log, Store};
use bench::{AsyncOp, BoxError, Op};
use dcb_core::postgres::Config;
use dcb_core::{EventStore as _, Position, ReadOptions};
use std::fmt::Debug;

/// A store, and where the 100 past events begin in its log.
pub(crate) struct Reader {
    pub(crate) store: Store,
    /// The position before them; none where the log holds nothing else.
    pub(crate) after: Option<Position>,
}

impl Reader {
    /// A set-up with the default configuration.
    pub(crate) fn of(log: &Log) -> AsyncOp<Self> {
        Self::configured(log, |_| ())
    }

    /// A set-up with the default configuration but for what `change` changes.
    pub(crate) fn configured(log: &Log, change: fn(&mut Config)) -> AsyncOp<Self> {
        let log = log.clone();
        Op::setup(move || {
            let log = log.clone();
            async move {
                let store = Store::configured(log.database().await?, change).await?;
                let head = Position::number_or_zero(store.events.head().await?);
                let after = Position::new(head.saturating_sub(log.content().past_events()));
                Ok(Self { store, after })
            }
        })
    }

    /// Reads the past events alone.
    pub(crate) fn past(&self) -> ReadOptions {
        ReadOptions::new().after(self.after)
    }
}

/// Fails the run where a call did not see what its row says.
pub(crate) fn expect<T: Copy + PartialEq + Debug>(seen: T, expected: T) -> Result<(), BoxError> {
    if seen == expected {
        Ok(())
    } else {
        Err(format!("a call saw {seen:?}, expected was {expected:?}").into())
    }
}
