//! A program that is written once and runs on any backend, which a URL chooses.
//!
//! ```text
//! cargo run -p dcb-core --example any_backend
//! cargo run -p dcb-core --example any_backend -- events.db
//! cargo run -p dcb-core --example any_backend -- postgres://postgres@localhost/postgres
//! ```

use dcb_core::{AnyStore, DecisionModel, Error, Event, EventStore, Projector, Query};

/// Takes a seat of the course, unless all are taken. Returns the number of the seat.
async fn take_seat(
    store: &(impl EventStore + Clone + 'static),
    course: &str,
    seats: u64,
) -> Result<u64, Error> {
    let taken = Query::builder()
        .event_type("SeatTaken")
        .tag_pair("course_id", course)
        .build()?;
    let mut seat = 0;
    let model = DecisionModel::new(Projector::counter(taken));
    model
        .decide(store, |taken| {
            seat = taken + 1;
            let event = Event::builder("SeatTaken").tag_pair("course_id", course);
            match taken < seats {
                true => event.build().map(Vec::from),
                false => Ok(Vec::new()),
            }
        })
        .await?;
    Ok(seat.min(seats))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    // Without a URL, the log is in memory.
    let url = std::env::args().nth(1).unwrap_or("memory:".to_owned());
    let store = AnyStore::open(&url).await?;
    println!("seat {}", take_seat(&store, "c1", 30).await?);
    let health = store.health().await?;
    println!("{}, durable: {}", health.backend, health.is_durable);
    store.close().await;
    Ok(())
}

#[cfg(test)]
#[tokio::test]
async fn seats_are_numbered_on_every_backend_in_memory() {
    for url in ["memory:", "sqlite::memory:"] {
        let store = AnyStore::open(url).await.unwrap();
        for expected in [1, 2, 2] {
            let seat = take_seat(&store, "c1", 2).await.unwrap();
            assert_eq!(seat, expected, "{url}");
        }
    }
}
