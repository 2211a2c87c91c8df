//! Many wakers behind one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

struct Bell(Mutex<Vec<Waker>>);

/// A waker that wakes all of these, once. Dropped unwoken it wakes them too: a runtime that ends
/// with it in hand must not leave callers of another one waiting.
pub(crate) fn of(wakers: Vec<Waker>) -> Waker {
    Waker::from(Arc::new(Bell(Mutex::new(wakers))))
}

impl Bell {
    fn ring(&self) {
        let wakers = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for waker in wakers {
            // One that panics keeps none of the others asleep, and nothing unwinds through the
            // runtime that rings. The panic has been reported by then.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.ring();
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
    fn it_wakes_each_once_when_it_is_woken_or_dropped() {
        let counted = Arc::new(Counted::default());
        let wakers = || vec![Waker::from(Arc::clone(&counted)); 3];
        let woken = of(wakers());
        woken.wake_by_ref();
        assert_eq!(counted.0.load(Ordering::Relaxed), 3);
        woken.wake();
        assert_eq!(counted.0.load(Ordering::Relaxed), 3);
        drop(of(wakers()));
        assert_eq!(counted.0.load(Ordering::Relaxed), 6);
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("this waker panics");
        }
    }

    #[test]
    fn a_waker_that_panics_keeps_none_of_the_others_asleep() {
        let counted = Arc::new(Counted::default());
        let waker = || Waker::from(Arc::clone(&counted));
        of(vec![waker(), Waker::from(Arc::new(Panics)), waker()]).wake();
        assert_eq!(counted.0.load(Ordering::Relaxed), 2);
    }
}
