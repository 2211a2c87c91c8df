//! One message: tried until it is handled, or set aside.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::slice;
use std::sync::Arc;
use std::task::Poll;

use tokio::time::sleep;
use tracing::Instrument as _;

use super::failure::with_causes;
use super::patience::Pauses;
use super::poison::Poison;
use super::reference::Reference;
use super::stop::Stop;
use super::{Consumer, End, Failure, HandlerError};
use crate::trace::span_of;
use crate::{Error, ExpectedVersion, Message, MessageStore, OnFailure, RecordedMessage};

/// A handler has failed at each try of a message.
pub(super) struct Failed {
    pub(super) tries: u32,
    pub(super) error: HandlerError,
}

impl<S: MessageStore> Consumer<S> {
    /// Returns once the message is handled or set aside.
    pub(super) async fn handle<F>(
        &mut self,
        handler: &mut (impl FnMut(RecordedMessage) -> F + Send),
        message: &RecordedMessage,
        stop: &mut Stop<'_>,
    ) -> Result<(), End>
    where
        F: Future<Output = Result<(), Failure>> + Send,
    {
        // The consumer's own records would otherwise come back, if it reads all categories.
        let records = [&self.poison_stream, &self.parked.stream];
        if records
            .iter()
            .any(|own| own.as_str() == message.stream_name())
        {
            return Ok(());
        }
        if self.park(message, None, stop).await? {
            return Ok(());
        }
        let Err(failed) = self.try_to_handle(handler, message, stop).await? else {
            return Ok(());
        };
        match self.options.on_failure {
            OnFailure::Stop => Err(End::Failed(self.handler_error(message, failed))),
            _ if Reference::in_record(message).is_some() => {
                self.tell_passed_over(message, &failed.error);
                Ok(())
            }
            OnFailure::Skip => self.skip(message, &failed, stop).await,
            OnFailure::Park => {
                self.park(message, Some(&failed), stop).await?;
                self.tell_parked(message, &failed);
                Ok(())
            }
        }
    }

    /// Tries the message as often as the options say, and as long as an outage lasts.
    pub(super) async fn try_to_handle<F>(
        &self,
        handler: &mut (impl FnMut(RecordedMessage) -> F + Send),
        message: &RecordedMessage,
        stop: &mut Stop<'_>,
    ) -> Result<Result<(), Failed>, End>
    where
        F: Future<Output = Result<(), Failure>> + Send,
    {
        let mut pauses = Pauses::new(&self.options);
        let mut tries = 0;
        loop {
            // Called within the block, so that a panic before the first await is caught too.
            let span = span_of("handle", slice::from_ref(message));
            let handling = async { handler(message.clone()).await }.instrument(span);
            match caught(handling).await {
                Ok(()) => {
                    self.recovered();
                    self.progress.count_handled();
                    self.tell_success(message, tries);
                    return Ok(Ok(()));
                }
                Err(Failure::Outage(error)) => self.begin_outage(Arc::from(error)),
                Err(Failure::Message(error)) => {
                    // The handler got an answer, so nothing is down.
                    self.recovered();
                    tries += 1;
                    if tries >= self.options.max_tries {
                        return Ok(Err(Failed { tries, error }));
                    }
                    self.tell_failure(message, tries, &error);
                }
            }
            stop.or(sleep(pauses.next())).await?;
        }
    }

    pub(super) fn handler_error(&self, message: &RecordedMessage, failed: Failed) -> Error {
        Error::Handler {
            consumer: self.name.clone(),
            stream: message.stream_name().to_owned(),
            global_position: message.global_position(),
            source: failed.error.into(),
        }
    }

    /// Writes a copy of the message to the poison stream.
    async fn skip(
        &self,
        message: &RecordedMessage,
        failed: &Failed,
        stop: &mut Stop<'_>,
    ) -> Result<(), End> {
        let poison = Poison {
            message,
            stream: &self.poison_stream,
            reference: Reference::new(message, &self.name, Some(failed)),
        };
        let written = match poison.whole() {
            Ok(copy) => self.write_poison(copy, stop).await,
            Err(refused) => Err(End::Failed(refused)),
        };
        match written {
            // The copy is larger than the message, and the store may have other limits today.
            Err(End::Failed(Error::Invalid { .. })) => {
                self.write_poison(poison.reference()?, stop).await?;
            }
            written => written?,
        }
        self.progress.count_poisoned();
        let (id, tries, error) = (message.id(), failed.tries, with_causes(&*failed.error));
        let (consumer, stream) = (self.checkpoint_name(), message.stream_name());
        tracing::warn!(consumer, stream, %id, tries, error, "a message is in the poison stream");
        Ok(())
    }

    fn tell_parked(&self, message: &RecordedMessage, failed: &Failed) {
        let (id, tries, error) = (message.id(), failed.tries, with_causes(&*failed.error));
        let (consumer, stream) = (self.checkpoint_name(), message.stream_name());
        tracing::warn!(consumer, stream, %id, tries, error, "a message is parked");
    }

    /// Copies of copies would never end: two consumers of all categories would copy each other's.
    fn tell_passed_over(&self, message: &RecordedMessage, error: &HandlerError) {
        let (id, error) = (message.id(), with_causes(&**error));
        let (consumer, stream) = (self.checkpoint_name(), message.stream_name());
        tracing::warn!(consumer, stream, %id, error, "a copy in a poison stream is passed over");
    }

    /// Tells the first failure only: the retries follow each other quickly.
    fn tell_failure(&self, message: &RecordedMessage, tries: u32, error: &HandlerError) {
        if tries == 1 {
            let (id, error) = (message.id(), with_causes(&**error));
            let (consumer, stream) = (self.checkpoint_name(), message.stream_name());
            tracing::warn!(consumer, stream, %id, error, "a message failed and is tried again");
        }
    }

    fn tell_success(&self, message: &RecordedMessage, failures: u32) {
        if failures > 0 {
            let (id, tries) = (message.id(), failures + 1);
            let (consumer, stream) = (self.checkpoint_name(), message.stream_name());
            tracing::info!(consumer, stream, %id, tries, "a message is handled after all");
        }
    }

    async fn write_poison(&self, copy: Message, stop: &mut Stop<'_>) -> Result<(), End> {
        let mut pauses = Pauses::new(&self.options);
        loop {
            let (stream, copy) = (&self.poison_stream, copy.clone());
            let writing = self.store.write_message(stream, copy, ExpectedVersion::Any);
            match stop.or(writing).await? {
                // Stored before a crash, perhaps with another error or number of tries.
                Ok(_) | Err(Error::DuplicateId { .. }) => break,
                Err(error) => self.wait_out(error, &mut pauses, stop).await?,
            }
        }
        self.recovered();
        Ok(())
    }
}

/// Runs a handler. A panic becomes a failure of the message.
async fn caught(handling: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let mut handling = pin!(handling);
    poll_fn(|context| {
        // The future is not polled again after a panic.
        let polled = catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(Failure::of_panic(&*panic))))
    })
    .await
}
