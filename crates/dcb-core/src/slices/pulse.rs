//! The signs of life of a member, in a task beside its work, so that a long handler loses no slice.

use std::sync::Arc;

use group_commit::Backoff;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::timeout;
use uuid::Uuid;

use super::model::{BEAT, Held, Model};
use crate::{Error, Fault, Progress};

/// The beats of one member. Dropping it gives the slices back.
pub(super) struct Pulse {
    held: watch::Receiver<Beat>,
    soon: Arc<Notify>,
    _stop: oneshot::Sender<()>,
}

#[derive(Clone, Debug)]
struct Beat {
    number: u64,
    held: Result<Arc<Held>, Error>,
}

impl Pulse {
    pub(super) async fn start<M: Model>(
        mut model: M,
        member: Uuid,
        slices: u32,
        progress: Progress,
    ) -> Result<Self, Error> {
        let mut backoff = Backoff::default();
        let first = loop {
            let begun = async {
                model.open(slices).await?;
                model.beat(member).await
            };
            match begun.await {
                Ok(held) => break Arc::new(held),
                Err(error) if error.is_transient() => {
                    progress.set_apply_outage(Some(error));
                    backoff.pause().await;
                }
                Err(error) => return Err(error),
            }
        };
        progress.set_apply_outage(None);
        let (beats, held) = watch::channel(Beat {
            number: 0,
            held: Ok(first),
        });
        let (stop, stopped) = oneshot::channel();
        let soon = Arc::new(Notify::new());
        tokio::spawn(beat(model, member, beats, Arc::clone(&soon), stopped));
        Ok(Self {
            held,
            soon,
            _stop: stop,
        })
    }

    /// The slices at the last beat.
    pub(super) fn held(&mut self) -> Result<Arc<Held>, Error> {
        self.held.borrow_and_update().held.clone()
    }

    /// Waits for the next beat.
    pub(super) async fn next(&mut self) -> Result<Arc<Held>, Error> {
        // The task ends only after this value.
        self.held.changed().await.map_err(|_| Fault::Closed)?;
        self.held()
    }

    /// Beats at once, and waits for a beat that began after this call.
    pub(super) async fn refresh(&mut self) -> Result<Arc<Held>, Error> {
        let number = self.held.borrow_and_update().number;
        self.soon.notify_one();
        // The next beat may have begun before this call.
        while self.held.borrow_and_update().number < number + 2 {
            let waited = timeout(BEAT, self.held.changed()).await;
            if let Ok(ended) = waited {
                ended.map_err(|_| Fault::Closed)?;
            }
            self.held()?;
            self.soon.notify_one();
        }
        self.held()
    }
}

async fn beat<M: Model>(
    mut model: M,
    member: Uuid,
    beats: watch::Sender<Beat>,
    soon: Arc<Notify>,
    mut stopped: oneshot::Receiver<()>,
) {
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            _ = timeout(BEAT, soon.notified()) => {}
        }
        let held = match model.beat(member).await {
            // The work notices an outage itself, and goes on when both have passed.
            Err(error) if error.is_transient() => continue,
            done => done.map(Arc::new),
        };
        beats.send_modify(|last| {
            *last = Beat {
                number: last.number + 1,
                held,
            }
        });
    }
    // If this fails, the lease runs out.
    let _ = model.give_back(member, 0).await;
}
