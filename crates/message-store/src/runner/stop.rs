use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use super::End;

/// The caller's signal to stop.
pub(super) struct Stop<'s> {
    signal: Pin<&'s mut (dyn Future<Output = ()> + Send + 's)>,
    /// A future must not be polled after it has ended.
    has_come: bool,
}

impl<'s> Stop<'s> {
    pub(super) fn new(signal: Pin<&'s mut (dyn Future<Output = ()> + Send + 's)>) -> Self {
        Self {
            signal,
            has_come: false,
        }
    }

    /// Runs a future that can be dropped, unless the signal comes first.
    pub(super) async fn or<F: Future>(&mut self, future: F) -> Result<F::Output, End> {
        let mut future = pin!(future);
        poll_fn(|context| {
            self.has_come = self.has_come || self.signal.as_mut().poll(context).is_ready();
            if self.has_come {
                return Poll::Ready(Err(End::Stopped));
            }
            future.as_mut().poll(context).map(Ok)
        })
        .await
    }

    /// Ends the run if the signal has come.
    pub(super) async fn check(&mut self) -> Result<(), End> {
        self.or(async {}).await
    }
}
