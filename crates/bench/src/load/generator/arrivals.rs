use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// The calls of an open schedule, handed out as they fall due.
///
/// A separate thread keeps the time. The runtime's timers are only accurate to a millisecond, and
/// this error would be part of every latency.
pub(super) struct Arrivals {
    begun: Instant,
    per_second: f64,
    count: u64,
    taken: AtomicU64,
    due: Semaphore,
}

impl Arrivals {
    /// From `begun` on, calls fall due at `per_second` for the duration `time`. `takers` callers
    /// make them.
    pub(super) fn begin(
        begun: Instant,
        per_second: f64,
        time: Duration,
        takers: usize,
    ) -> io::Result<Arc<Self>> {
        let arrivals = Arc::new(Self {
            begun,
            per_second,
            count: (per_second * time.as_secs_f64()) as u64,
            taken: AtomicU64::new(0),
            due: Semaphore::new(0),
        });
        let clock = Arc::clone(&arrivals);
        thread::Builder::new()
            .name("arrivals".to_owned())
            .spawn(move || clock.keep_time(takers))?;
        Ok(arrivals)
    }

    /// Waits until the next call is due and returns its intended start; `None` after the last call.
    pub(super) async fn next(&self) -> Option<Instant> {
        // The only error is a closed semaphore, and this one is never closed.
        self.due.acquire().await.ok()?.forget();
        // A permit means that a call is due. Each caller needs a different number. Their order does
        // not matter, so `Relaxed` is enough.
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then(|| self.intended(number))
    }

    fn intended(&self, number: u64) -> Instant {
        self.begun + Duration::from_secs_f64(number as f64 / self.per_second)
    }

    fn keep_time(self: Arc<Self>, takers: usize) {
        let mut number = 0;
        while number < self.count {
            let now = Instant::now();
            let mut due = 0;
            while number < self.count && self.intended(number) <= now {
                number += 1;
                due += 1;
            }
            // One step for all permits: if this thread woke up late, several calls are due.
            self.due.add_permits(due);
            // All callers are gone: the run was stopped.
            if Arc::strong_count(&self) == 1 {
                return;
            }
            thread::sleep(self.intended(number).saturating_duration_since(now));
        }
        // One more permit per caller, so that each of them finds out that no call is left.
        self.due.add_permits(takers);
    }
}

#[cfg(test)]
mod tests {
    use super::Arrivals;
    use std::time::{Duration, Instant};

    #[tokio::test]
    async fn each_call_is_handed_out_once_when_due() {
        let begun = Instant::now();
        let arrivals = Arrivals::begin(begun, 2_000.0, Duration::from_millis(50), 3).unwrap();
        let mut due = Vec::new();
        while let Some(intended) = arrivals.next().await {
            assert!(intended <= Instant::now());
            due.push(intended - begun);
        }
        let planned = (0..100).map(|number| Duration::from_secs_f64(f64::from(number) / 2_000.0));
        assert_eq!(due, planned.collect::<Vec<_>>());
        // The other two callers find out too that no call is left.
        assert_eq!(arrivals.next().await, None);
        assert_eq!(arrivals.next().await, None);
    }
}
