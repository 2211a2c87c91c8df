//! The decisions.

use dcb_core::{AnyStore, DecisionModel, Error, Event, Projector};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub const BOOKED: &str = "RoomBooked";

/// The client chooses the id, so that it can repeat a request whose answer was lost.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Booking {
    pub id: Uuid,
    pub room: u32,
    pub night: String,
    pub guest: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RoomBooked {
    #[serde(flatten)]
    pub booking: Booking,
    pub invoice: u64,
}

pub enum Refusal {
    Taken,
    Store(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Books a room for a night and returns the number of the invoice.
pub async fn book(events: &AnyStore, booking: &Booking) -> Result<u64, Refusal> {
    let room_night = format!("{}/{}", booking.room, booking.night);
    let next_invoice = Projector::builder(1)
        .on_json(BOOKED, |next, last: RoomBooked| *next = last.invoice + 1)
        .last_only()
        .build()?;
    let in_room = Projector::builder(None)
        .on_json(BOOKED, |found, booked: RoomBooked| *found = Some(booked))
        .tag_pair("room_night", &room_night)
        .last_only()
        .build()?;
    let mut invoice = 0;
    // All bookings share the invoices, so they follow each other instead of conflicting.
    let decision = DecisionModel::new(next_invoice).and(in_room);
    let decided = decision.decide(events, |next, found| match found {
        // This request again.
        Some(booked) if booked.booking.id == booking.id => {
            invoice = booked.invoice;
            Ok(Vec::new())
        }
        Some(_) => Err(Refusal::Taken),
        None => {
            invoice = next;
            let booked = RoomBooked {
                booking: booking.clone(),
                invoice,
            };
            let event = Event::builder(BOOKED).id(booking.id).json(&booked);
            Ok(vec![event.tag_pair("room_night", &room_night).build()?])
        }
    });
    decided.await?;
    Ok(invoice)
}
