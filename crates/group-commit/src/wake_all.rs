//! One waker that wakes many.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

struct WakeAll(Mutex<Vec<Waker>>);

/// A waker that wakes all of `wakers`, once. If it is dropped without being woken, it wakes them
/// too: a runtime that shuts down must not leave callers on another runtime waiting.
pub(crate) fn waker_for(wakers: Vec<Waker>) -> Waker {
    Waker::from(Arc::new(WakeAll(Mutex::new(wakers))))
}

impl WakeAll {
    fn wake_each(&self) {
        let wakers = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for waker in wakers {
            // A waker that panics must not keep the others asleep, and the panic must not unwind
            // through the runtime that called us. The panic hook has already reported it.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

impl Wake for WakeAll {
    fn wake(self: Arc<Self>) {
        self.wake_each();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_each();
    }
}

impl Drop for WakeAll {
    fn drop(&mut self) {
        self.wake_each();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn waker_woken_or_dropped_wakes_each_once() {
        let counted = Arc::new(Counted::default());
        let wakers = || vec![Waker::from(Arc::clone(&counted)); 3];
        let woken = waker_for(wakers());
        woken.wake_by_ref();
        assert_eq!(counted.0.load(Ordering::Relaxed), 3);
        woken.wake();
        assert_eq!(counted.0.load(Ordering::Relaxed), 3);
        drop(waker_for(wakers()));
        assert_eq!(counted.0.load(Ordering::Relaxed), 6);
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("this waker panics");
        }
    }

    #[test]
    fn panicking_waker_does_not_stop_the_others() {
        let counted = Arc::new(Counted::default());
        let waker = || Waker::from(Arc::clone(&counted));
        waker_for(vec![waker(), Waker::from(Arc::new(Panics)), waker()]).wake();
        assert_eq!(counted.0.load(Ordering::Relaxed), 2);
    }
}
