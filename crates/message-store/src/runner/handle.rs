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
use super::poison::{self, Poison};
use super::stop::Stop;
use super::{Consumer, End, Failure, HandlerError};
use crate::trace::span_of;
use crate::{Error, ExpectedVersion, Message, MessageStore, RecordedMessage};

impl<S: MessageStore> Consumer<S> {
    /// Returns once the message is handled or in the poison stream.
    pub(super) async fn handle<F>(
        &self,
        handler: &mut (impl FnMut(RecordedMessage) -> F + Send),
        message: &RecordedMessage,
        stop: &mut Stop<'_>,
    ) -> Result<(), End>
    where
        F: Future<Output = Result<(), Failure>> + Send,
    {
        // The consumer's own poison would otherwise come back, if it reads all categories.
        if message.stream_name() == self.poison_stream.as_str() {
            return Ok(());
        }
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
                    return Ok(());
                }
                Err(Failure::Outage(error)) => self.begin_outage(Arc::from(error)),
                Err(Failure::Message(error)) => {
                    // The handler got an answer, so nothing is down.
                    self.recovered();
                    tries += 1;
                    if tries >= self.options.max_tries {
                        if poison::is_copy(message) {
                            self.tell_passed_over(message, &error);
                            return Ok(());
                        }
                        return self.set_aside(message, tries, &error, stop).await;
                    }
                    self.tell_failure(message, tries, &error);
                }
            }
            stop.or(sleep(pauses.next())).await?;
        }
    }

    /// Writes a copy of the message to the poison stream.
    async fn set_aside(
        &self,
        message: &RecordedMessage,
        tries: u32,
        error: &HandlerError,
        stop: &mut Stop<'_>,
    ) -> Result<(), End> {
        let poison = Poison {
            message,
            consumer: &self.name,
            stream: &self.poison_stream,
            tries,
            error,
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
        let (id, error) = (message.id(), with_causes(&**error));
        let (consumer, stream) = (self.checkpoint_name(), message.stream_name());
        tracing::warn!(consumer, stream, %id, tries, error, "a message is in the poison stream");
        Ok(())
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
