//! Each booking is paid once: an event becomes a message, a process manager handles the message and
//! confirms with an event.
//!
//! Ids are derived: the message has the id of its event, and the confirmation's id is computed from
//! the message's. So a step that is repeated after a crash or an outage is stored once.

use dcb_core::{AnyStore, Error, Event, EventStore as _, ProjectionRunner, Query};
use event_relay::Relay;
use message_store::{Category, ConsumerGroup, Failure, Message, MessageRunner};
use message_store::{RecordedMessage, RunOptions, StreamName};
use tokio::sync::watch;
use uuid::Uuid;

use crate::AnyError;
use crate::booking::{BOOKED, RoomBooked};

pub const PAID: &str = "BookingPaid";
/// The category of the messages. A stream is one booking.
pub const COMMANDS: &str = "payment:command";
/// The members of the consumer group.
pub const MEMBERS: i64 = 2;

/// Requests a payment for each booking, without end. The request has the id of its event.
pub async fn request(events: AnyStore, messages: message_store::AnyStore) -> Result<(), AnyError> {
    let requests = Relay::new(messages, "payments", |event| {
        let stream = StreamName::new(format!("{COMMANDS}-{}", event.id()))?;
        let data = String::from_utf8_lossy(event.data());
        let request = Message::builder("RequestPayment").data_json(data);
        Ok(Some((stream, request.id(event.id()).build()?)))
    })?;
    let bookings = Query::builder().event_type(BOOKED).build()?;
    let mut runner = ProjectionRunner::new(events, bookings, requests);
    match runner.run().await? {}
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
