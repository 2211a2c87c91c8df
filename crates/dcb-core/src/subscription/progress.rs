use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Error, Position};

/// How far a subscription or a projection has got. Clones show the same.
#[derive(Clone)]
pub struct Progress {
    /// The number of an optional position, as `head` is. They guard nothing.
    position: Arc<AtomicU64>,
    /// Why what was read is not handled.
    outage: Arc<Outage>,
    reading: Arc<Reading>,
}

/// What a projection has in common with the subscription that it reads from.
struct Reading {
    head: AtomicU64,
    outage: Outage,
}

/// What a step meets that is tried again and again.
#[derive(Default)]
struct Outage(Mutex<Option<Error>>);

impl Outage {
    fn get(&self) -> Option<Error> {
        self.lock().clone()
    }

    fn set(&self, outage: Option<Error>) {
        *self.lock() = outage;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    pub(crate) fn at(position: Option<Position>) -> Self {
        let number = Position::number_or_zero(position);
        Self {
            position: Arc::new(AtomicU64::new(number)),
            outage: Arc::default(),
            reading: Arc::new(Reading {
                head: AtomicU64::new(number),
                outage: Outage::default(),
            }),
        }
    }

    /// That of a subscription which begins at `position` and reads for the owner of this one.
    pub(crate) fn of_reader_at(&self, position: Option<Position>) -> Self {
        Self {
            position: Arc::new(AtomicU64::new(Position::number_or_zero(position))),
            outage: Arc::default(),
            reading: Arc::clone(&self.reading),
        }
    }

    /// The position up to which everything has been handed out, or taken into the state.
    pub fn position(&self) -> Option<Position> {
        Position::new(self.position.load(Ordering::Relaxed))
    }

    /// The last position of the log when it was last read.
    pub fn head(&self) -> Option<Position> {
        Position::new(self.reading.head.load(Ordering::Relaxed))
    }

    /// How many events of the log, whether or not they match, are between the position and the
    /// head.
    pub fn lag(&self) -> u64 {
        let position = self.position.load(Ordering::Relaxed);
        let head = self.reading.head.load(Ordering::Relaxed);
        head.saturating_sub(position)
    }

    /// Why it gets no further at the moment though it tries again and again; `None` while it
    /// works.
    pub fn outage(&self) -> Option<Error> {
        self.outage.get().or_else(|| self.reading.outage.get())
    }

    pub(crate) fn moved_to(&self, position: Option<Position>) {
        let number = Position::number_or_zero(position);
        self.position.store(number, Ordering::Relaxed);
    }

    pub(crate) fn saw_head(&self, head: Option<Position>) {
        let number = Position::number_or_zero(head);
        self.reading.head.store(number, Ordering::Relaxed);
    }

    /// What reading the log met.
    pub(crate) fn saw_outage(&self, outage: Option<Error>) {
        self.reading.outage.set(outage);
    }

    /// What handling that which was read met.
    pub(crate) fn set_outage(&self, outage: Option<Error>) {
        self.outage.set(outage);
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
