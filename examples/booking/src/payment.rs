//! Each booking is paid once: an event becomes a message, a process manager handles the message and
//! confirms with an event.
//!
//! Ids are derived: the message has the id of its event, and the confirmation's id is computed from
//! the message's. So a step that is repeated after a crash or an outage is stored once.

use std::sync::Arc;

use dcb_core::{AnyStore, Bookmark, Error, Event, EventBatch, EventStore as _, ProjectionRunner};
use dcb_core::{Fault, Query, ReadModel, Reason, SubscribeOptions};
use message_store::{Category, ConsumerGroup, ExpectedVersion, Failure, Message, MessageRunner};
use message_store::{MessageStore as _, RecordedMessage, RunOptions, StreamName, StreamWrite};
use tokio::sync::watch;
use uuid::Uuid;

use crate::AnyError;
use crate::booking::{BOOKED, RoomBooked};

pub const PAID: &str = "BookingPaid";
/// The category of the messages. A stream is one booking.
pub const COMMANDS: &str = "payment:command";
/// The members of the consumer group.
pub const MEMBERS: i64 = 2;
/// The stream whose last message tells how far the events are requested.
const REQUESTED: &str = "paymentRequested-bookings";

/// Requests a payment for each booking, without end.
pub async fn request(events: AnyStore, messages: message_store::AnyStore) -> Result<(), AnyError> {
    let bookings = Query::builder().event_type(BOOKED).build()?;
    let options = SubscribeOptions::new().batch_size(100);
    let runner = ProjectionRunner::new(events, bookings, Requests { messages });
    match runner.options(options).run().await? {}
}

/// The messages as a read model of the events: requests and checkpoint are written in one commit.
struct Requests {
    messages: message_store::AnyStore,
}

impl Requests {
    /// The checkpoint, and the version of its stream.
    async fn last(&self) -> Result<(Option<Bookmark>, ExpectedVersion), Error> {
        let stream = StreamName::new(REQUESTED).map_err(from_messages)?;
        let last = self.messages.get_last_stream_message(&stream, None).await;
        let Some(last) = last.map_err(from_messages)? else {
            return Ok((None, ExpectedVersion::NoStream));
        };
        let bookmark: String = last.data().map_err(from_messages)?;
        let version = ExpectedVersion::Exact(last.position());
        Ok((Some(bookmark.parse()?), version))
    }
}

impl ReadModel for Requests {
    async fn checkpoint(&mut self) -> Result<Option<Bookmark>, Error> {
        Ok(self.last().await?.0)
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        expected: Option<Bookmark>,
    ) -> Result<(), Error> {
        let moved = |actual| Error::CheckpointMoved {
            name: REQUESTED.to_owned(),
            expected,
            actual,
        };
        let (before, version) = self.last().await?;
        if before != expected {
            return Err(moved(before));
        }
        let writes = requests(&batch, version).map_err(from_messages)?;
        let Err(refused) = self.messages.write_streams(writes).await else {
            return Ok(());
        };
        // Another process of the service was faster, or the answer to an earlier try was lost.
        let (actual, _) = self.last().await?;
        Err(match actual == expected {
            true => from_messages(refused),
            false => moved(actual),
        })
    }

    async fn reset(&mut self) -> Result<(), Error> {
        unreachable!("a request can't be taken back, so this model is never rebuilt")
    }
}

fn requests(
    batch: &EventBatch,
    version: ExpectedVersion,
) -> Result<Vec<StreamWrite>, message_store::Error> {
    let mut writes = Vec::new();
    for event in &batch.events {
        let stream = StreamName::new(format!("{COMMANDS}-{}", event.id()))?;
        let data = String::from_utf8_lossy(event.data());
        let request = Message::builder("RequestPayment").data_json(data);
        writes.push(StreamWrite::new(stream, request.id(event.id()).build()?));
    }
    let through = batch.through.to_string();
    let checkpoint = Message::builder("Requested").data(&through).build()?;
    let checkpoint = StreamWrite::new(StreamName::new(REQUESTED)?, checkpoint);
    writes.push(checkpoint.expected_version(version));
    Ok(writes)
}

/// The runner waits for a store of messages that is down, as it does for its own. It repeats an unknown
/// outcome too: the messages have the ids of their events.
fn from_messages(error: message_store::Error) -> Error {
    match error {
        message_store::Error::OutcomeUnknown { .. } => {
            Fault::Unreachable(Reason::new(error.to_string())).into()
        }
        error => Error::Handler {
            name: REQUESTED.to_owned(),
            source: Arc::new(error),
        },
    }
}

/// The process manager: one member of the group, until the signal comes.
pub async fn pay(
    events: AnyStore,
    messages: message_store::AnyStore,
    member: i64,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), AnyError> {
    let handler = move |request: RecordedMessage| {
        let events = events.clone();
        async move { charge(&events, &request).await }
    };
    let commands = Category::new(COMMANDS)?;
    // A booking that can't be paid is set aside after 0.3 s instead of 6.5 s.
    let mut runner = MessageRunner::new(messages, "payments", commands, handler)?
        .group(ConsumerGroup::new(member, MEMBERS)?)
        .options(RunOptions::new().max_tries(5));
    runner
        .run_until(stopped.wait_for(|stopped| *stopped))
        .await?;
    Ok(())
}

async fn charge(events: &AnyStore, request: &RecordedMessage) -> Result<(), Failure> {
    let booked: RoomBooked = request.data()?;
    if booked.booking.guest.is_empty() {
        return Err("there is no guest to pay".into());
    }
    let paid = Event::builder(PAID)
        .id(Uuid::new_v5(&request.id(), b"paid"))
        .json(&booked.booking.id)
        .tag_pair("booking", booked.booking.id);
    // The runner waits for a store of events that is down. An append with the same id can be repeated.
    events
        .append(paid.build()?)
        .await
        .map(drop)
        .map_err(|error| match error {
            Error::OutcomeUnknown { .. } => Failure::Outage(error.into()),
            error => error.into(),
        })
}
