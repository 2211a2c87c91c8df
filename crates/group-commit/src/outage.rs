use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An outage that a caller waits out, and that others may look at.
///
/// ```
/// let outage = group_commit::Outage::default();
/// assert!(outage.failed("refused"));
/// assert!(!outage.failed("no answer"), "it goes on");
/// assert_eq!(outage.error(), Some("no answer"));
/// assert_eq!(outage.ended().map(|(_, retries)| retries), Some(1));
/// assert!(outage.error().is_none() && outage.ended().is_none());
/// ```
#[derive(Debug)]
pub struct Outage<E>(Mutex<Option<Ongoing<E>>>);

#[derive(Debug)]
struct Ongoing<E> {
    error: E,
    since: Instant,
    retries: u64,
}

impl<E: Clone> Outage<E> {
    /// The error of the last try; `None` without an outage.
    pub fn error(&self) -> Option<E> {
        let ongoing = self.lock();
        ongoing.as_ref().map(|ongoing| ongoing.error.clone())
    }

    /// A try has failed. Returns whether that begins the outage.
    pub fn failed(&self, error: E) -> bool {
        let mut ongoing = self.lock();
        let begins = ongoing.is_none();
        let (since, retries) = match &*ongoing {
            Some(before) => (before.since, before.retries + 1),
            None => (Instant::now(), 0),
        };
        *ongoing = Some(Ongoing {
            error,
            since,
            retries,
        });
        begins
    }

    /// A try has succeeded. Returns how long the outage was and how many retries failed in it, if there was
    /// one.
    pub fn ended(&self) -> Option<(Duration, u64)> {
        let ended = self.lock().take()?;
        Some((ended.since.elapsed(), ended.retries))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Ongoing<E>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> Default for Outage<E> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
