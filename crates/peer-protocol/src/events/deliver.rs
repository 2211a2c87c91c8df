//! Appends that end with the delivery of their event.

use super::{EventCaller, EventPeer, Shared};
use crate::calls::{Caller, Outcome, make_calls};
use crate::{Answer, Failure, Run};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// A delivery that takes longer is lost.
const LOST_AFTER: Duration = Duration::from_secs(10);

/// A caller that waits for the subscription.
struct Awaiting<P> {
    caller: EventCaller<P>,
    /// The last position that was delivered.
    delivered: watch::Receiver<u64>,
}

impl<P: EventPeer> Caller for Awaiting<P> {
    async fn call(&mut self, _: u64) -> Outcome {
        let position = self.caller.append_if().await?;
        let is_delivered = self.delivered.wait_for(|last| *last >= position);
        match timeout(LOST_AFTER, is_delivered).await {
            Ok(Ok(_)) => Ok(1),
            Ok(Err(_)) => Err(Failure::Other("the subscription ended".to_owned())),
            Err(_) => Err(Failure::Other(format!(
                "the event at {position} was not delivered within {LOST_AFTER:?}"
            ))),
        }
    }
}

/// Lets the callers append under one subscription.
pub(super) async fn deliver<P: EventPeer>(
    shared: &Arc<Shared<P>>,
    run: &Run,
    callers: Vec<EventCaller<P>>,
) -> Answer {
    let after = shared.last.load(Ordering::Relaxed);
    let (last, delivered) = watch::channel(after);
    let peer = Arc::clone(&shared.peer);
    let follower = tokio::spawn(async move {
        peer.follow(after, |position| {
            last.send_modify(|last| *last = position.max(*last));
        })
        .await
    });
    let mut callers: Vec<_> = callers
        .into_iter()
        .map(|caller| Awaiting {
            caller,
            delivered: delivered.clone(),
        })
        .collect();
    // The first delivery waits for the start of the subscription, which is not measured.
    let first = match callers.first_mut() {
        Some(caller) => caller.call(0).await,
        None => Ok(0),
    };
    let mut answer = match first {
        Ok(_) => make_calls(run, P::BLOCKS, callers).await,
        Err(failure) => {
            let mut answer = Answer::default();
            answer.fail(failure.to_string());
            answer
        }
    };
    follower.abort();
    // If the subscription failed, its error is the cause of the callers' timeouts.
    if let Ok(Err(failure)) = follower.await {
        answer.failure = Some(failure.to_string());
    }
    answer
}
