//! Both stores in one program: each enrollment in the event store becomes one message that confirms
//! it. The backends are chosen by URLs, and may differ.
//!
//! ```text
//! cargo run -p course-enrollment --example confirmations
//! cargo run -p course-enrollment --example confirmations -- events.db messages.db
//! cargo run -p course-enrollment --example confirmations -- \
//!     events.db postgres://postgres@localhost/postgres
//! ```

use dcb_core::{Event, EventStore, Query, ReadOptions};
use message_store::{Category, CategoryRead, ExpectedVersion, Message, MessageStore, StreamName};

type Failure = Box<dyn std::error::Error>;

/// Writes a confirmation for each enrollment. The message has the id of the event, so a repeated
/// run, for example after a crash, writes none twice.
async fn confirm(events: &impl EventStore, messages: &impl MessageStore) -> Result<(), Failure> {
    let enrollments = Query::builder().event_type("EnrollmentCompleted").build()?;
    let enrollments = events.query(&enrollments, ReadOptions::new()).await?;
    for event in &enrollments.events {
        let stream = StreamName::new("confirmation-all")?;
        let message = Message::builder("EnrollmentConfirmed")
            .id(event.id())
            .data(&event.position().get())
            .build()?;
        messages
            .write_message(&stream, message, ExpectedVersion::Any)
            .await?;
    }
    Ok(())
}

/// The number of confirmations.
async fn confirmed(messages: &impl MessageStore) -> Result<usize, Failure> {
    let all = CategoryRead::new().batch_size(None);
    let category = Category::new("confirmation")?;
    Ok(messages.get_category_messages(&category, all).await?.len())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut urls = std::env::args().skip(1);
    let mut url = || urls.next().unwrap_or("memory:".to_owned());
    let events = dcb_core::AnyStore::open(&url()).await?;
    let messages = message_store::AnyStore::open(&url()).await?;

    let enrollment = Event::builder("EnrollmentCompleted").tag("course_id:c1");
    events.append(enrollment.build()?).await?;
    confirm(&events, &messages).await?;
    println!("{} confirmed", confirmed(&messages).await?);

    messages.close().await;
    events.close().await;
    Ok(())
}

#[cfg(test)]
#[tokio::test]
async fn each_enrollment_is_confirmed_once() -> Result<(), Failure> {
    let events = dcb_core::AnyStore::open("sqlite::memory:").await?;
    let messages = message_store::AnyStore::open("memory:").await?;
    for student in ["ada", "grace"] {
        let enrollment = Event::builder("EnrollmentCompleted").tag_pair("student_id", student);
        events.append(enrollment.build()?).await?;
        confirm(&events, &messages).await?;
    }
    confirm(&events, &messages).await?;
    assert_eq!(confirmed(&messages).await?, 2);
    Ok(())
}
