use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use group_commit::Outage;
use store_meter::Share;

use crate::{Error, Metrics, Position};

/// The progress of a subscription or a projection. Clones share their values.
#[derive(Clone)]
pub struct Progress {
    /// The number of the position, 0 for `None`. Relaxed accesses are enough, because the number
    /// guards no other memory.
    position: Arc<AtomicU64>,
    /// The transient error that keeps events from being applied.
    outage: Arc<Outage<Error>>,
    reading: Arc<Reading>,
}

/// The read side, which a projection shares with its subscription.
struct Reading {
    head: AtomicU64,
    outage: Outage<Error>,
    /// The position that the lag is measured from: that of the state, not that of its reader.
    position: Arc<AtomicU64>,
    lag: Share,
    _follower: Share,
}

impl Reading {
    /// The number of positions between the state and the head.
    fn lag(&self) -> u64 {
        let position = self.position.load(Ordering::Relaxed);
        let head = self.head.load(Ordering::Relaxed);
        // The head of a lagging replica may be less than the position.
        head.saturating_sub(position)
    }

    fn record_lag(&self) {
        self.lag.set(|| self.lag());
    }
}

impl Progress {
    pub(crate) fn at(position: Option<Position>, metrics: &Metrics) -> Self {
        let number = Position::number_or_zero(position);
        let position = Arc::new(AtomicU64::new(number));
        Self {
            position: Arc::clone(&position),
            outage: Arc::default(),
            reading: Arc::new(Reading {
                // The head is unknown before the first read. Until then the lag is 0.
                head: AtomicU64::new(number),
                outage: Outage::default(),
                position,
                lag: metrics.store().followers().lag(),
                _follower: metrics.store().followers().begins(),
            }),
        }
    }

    /// The progress of a subscription that starts at `position` and reads for this projection. The
    /// subscription has its own position, because it reads ahead of the state.
    pub(crate) fn for_reader_at(&self, position: Option<Position>) -> Self {
        Self {
            position: Arc::new(AtomicU64::new(Position::number_or_zero(position))),
            outage: Arc::default(),
            reading: Arc::clone(&self.reading),
        }
    }

    /// All matching events up to this position, inclusive, have been handed out or applied to the
    /// state.
    pub fn position(&self) -> Option<Position> {
        Position::new(self.position.load(Ordering::Relaxed))
    }

    /// The last position of the log at the time of the last read.
    pub fn head(&self) -> Option<Position> {
        Position::new(self.reading.head.load(Ordering::Relaxed))
    }

    /// The number of events between the position and the head, including events that don't match.
    pub fn lag(&self) -> u64 {
        let position = self.position.load(Ordering::Relaxed);
        let head = self.reading.head.load(Ordering::Relaxed);
        // The head of a lagging replica may be less than the position.
        head.saturating_sub(position)
    }

    /// The transient error that is being retried; `None` during normal operation.
    pub fn outage(&self) -> Option<Error> {
        let read = || self.reading.outage.error();
        self.outage.error().or_else(read)
    }

    pub(crate) fn set_position(&self, position: Option<Position>) {
        let number = Position::number_or_zero(position);
        self.position.store(number, Ordering::Relaxed);
        self.reading.record_lag();
    }

    pub(crate) fn observe_head(&self, head: Option<Position>) {
        let number = Position::number_or_zero(head);
        self.reading.head.store(number, Ordering::Relaxed);
        self.reading.record_lag();
    }

    /// Sets or clears the error of reading the log.
    pub(crate) fn set_read_outage(&self, outage: Option<Error>) {
        match outage {
            Some(error) => {
                self.reading.outage.failed(error);
            }
            None => {
                self.reading.outage.ended();
            }
        }
    }

    /// Sets or clears the error of applying events. Logs the begin and the end of an outage.
    pub(crate) fn set_apply_outage(&self, outage: Option<Error>) {
        let position = Position::number_or_zero(self.position());
        let Some(error) = outage else {
            if let Some((after, _)) = self.outage.ended() {
                tracing::info!(position, ?after, "a projection is applied again");
            }
            return;
        };
        let cause = error.to_string();
        if self.outage.failed(error) {
            tracing::warn!(position, cause, "a projection waits for its database");
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Progress")
            .field("position", &self.position())
            .field("head", &self.head())
            .field("outage", &self.outage())
            .finish()
    }
}
