//! A share whose handler fails: find the event, then stop, skip or park it.

use std::sync::Arc;

use group_commit::Backoff;
use tracing::Instrument as _;

use super::SliceOptions;
use super::meter::Meter;
use super::model::Model;
use super::runner::Moved;
use super::share::Share;
use crate::trace::span_of;
use crate::{Error, OnFailure, Progress};

/// Applies shares, with retries.
pub(super) struct Patience {
    options: SliceOptions,
    progress: Progress,
    meter: Meter,
}

impl Patience {
    pub(super) fn new(options: SliceOptions, progress: Progress, meter: Meter) -> Self {
        Self {
            options,
            progress,
            meter,
        }
    }

    /// Applies a share: first in one transaction. If the handler fails, each slice alone, and the
    /// events of the slice that fails one by one.
    pub(super) async fn apply(
        &self,
        model: &mut impl Model,
        share: Share,
    ) -> Result<Vec<Moved>, Error> {
        let share = Arc::new(share);
        match self.outlast(model, &share).await {
            Ok(()) => Ok(share.moved(share.to).into_iter().map(Moved::To).collect()),
            Err(Error::Handler { .. }) => {
                let mut moved = Vec::new();
                for of_slice in share.by_slice()? {
                    moved.push(self.alone(model, of_slice).await?);
                }
                Ok(moved)
            }
            Err(error) => Err(error),
        }
    }

    /// Repeats the transaction while the database is away.
    async fn outlast(&self, model: &mut impl Model, share: &Arc<Share>) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        loop {
            let span = span_of("apply", &share.events);
            match model.apply(Arc::clone(share)).instrument(span).await {
                Err(error) if error.is_transient() => {
                    self.progress.set_apply_outage(Some(error));
                    backoff.pause().await;
                }
                done => {
                    if done.is_ok() {
                        self.meter.applied(share.events.len());
                    }
                    return done;
                }
            }
        }
    }

    async fn alone(&self, model: &mut impl Model, share: Share) -> Result<Moved, Error> {
        let share = Arc::new(share);
        match self.outlast(model, &share).await {
            Ok(()) => Ok(Moved::To(share.moved(share.to).remove(0))),
            Err(Error::Handler { .. }) => self.one_by_one(model, &share).await,
            Err(error) => Err(error),
        }
    }

    async fn one_by_one(&self, model: &mut impl Model, share: &Share) -> Result<Moved, Error> {
        let mut rest = share.clone();
        while let Some((one, others)) = rest.split_first() {
            let one = Arc::new(one);
            if let Err(error) = self.try_one(model, &one).await? {
                match self.options.on_failure {
                    OnFailure::Stop => {
                        model.stop(one, &error).await?;
                        return Ok(Moved::Stopped);
                    }
                    OnFailure::Skip => model.set_aside(one, false, &error).await?,
                    OnFailure::Park => model.set_aside(one, true, &error).await?,
                }
            }
            rest = others;
        }
        let to = rest.to;
        if rest.slices[0].stored != Some(to) {
            let rest = Arc::new(rest.clone());
            self.outlast(model, &rest).await?;
        }
        Ok(Moved::To(rest.moved(to).remove(0)))
    }

    /// Tries one event as often as the options say. Returns the text of the handler's last error.
    async fn try_one(
        &self,
        model: &mut impl Model,
        one: &Arc<Share>,
    ) -> Result<Result<(), String>, Error> {
        let mut backoff = Backoff::default();
        let mut tries = 0;
        loop {
            match self.outlast(model, one).await {
                Ok(()) => return Ok(Ok(())),
                Err(Error::Handler { source, .. }) => {
                    tries += 1;
                    if tries >= self.options.tries {
                        self.meter.failed(self.options.on_failure);
                        let position = one.events[0].position();
                        tracing::warn!(%position, cause = %source, "a projection can't handle an event");
                        return Ok(Err(source.to_string()));
                    }
                }
                Err(error) => return Err(error),
            }
            backoff.pause().await;
        }
    }
}
