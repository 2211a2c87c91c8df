//! The operations that the performance and operations pages name, on any store.

use super::backend::{Backend, Opened, opened};
use super::floors;
use super::log::Log;
use super::raw_reads::Read;
use bench::{BoxError, Op, Outcome, Row};
use course_enrollment::{
    CourseId, CourseOffered, EnrollmentCompleted, StudentId, course_capacity, courses_taken,
    is_enrolled, max_courses, seats_taken,
};
use dcb_core::{AppendCondition, Event, EventStore, EventStream, Query, ReadOptions};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;

const CATEGORY: &str = "category:Computer Science";
/// The capacity of the channel between the task that reads events and the task that takes them, as
/// in the Go library.
const CHANNEL: usize = 1_000;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// An append of this many small test events, as published.
    AppendTest(usize),
    /// The same under a condition that holds.
    AppendTestIf(usize),
    /// An append of this many events of the domain.
    Append(usize),
    /// The same under a condition that holds.
    AppendIf(usize),
    /// All events of a selection, in memory.
    Query(Selection),
    /// All events of a selection, one by one.
    Stream(Selection),
    /// The same, read by another task.
    Channel(Selection),
    /// One projector or five.
    Project(Projectors),
    /// The same as a stream that yields the state after each event.
    ProjectStream(Projectors),
}

/// The events that a read returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// The courses of a category.
    Simple,
    /// The same, and the enrollments of a course.
    Complex,
    /// All enrollments.
    Enrollments,
}

/// The projectors of one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Projectors {
    /// The seats taken in a course.
    One,
    /// The five that the decision to enroll a student needs.
    Five,
}

impl Operation {
    /// One op in words.
    pub(crate) fn text(self) -> String {
        let events = |count: usize| match count {
            1 => "1 event".to_owned(),
            _ => format!("{count} events"),
        };
        match self {
            Self::AppendTest(count) => {
                format!(
                    "1 append of {} of 2 tags and 50 bytes of data",
                    events(count)
                )
            }
            Self::AppendTestIf(count) => format!(
                "1 append of {} of 2 tags and 50 bytes of data, under the condition that the log \
                 has no event of a type and a tag that never occur",
                events(count)
            ),
            Self::Append(count) => format!("1 append of {} of the domain", events(count)),
            Self::AppendIf(count) => format!(
                "1 append of {} of the domain, under the condition that the log has no event \
                 with its course id and category",
                events(count)
            ),
            Self::Query(selection) => format!("1 query of {}", selection.text()),
            Self::Stream(selection) => {
                format!("1 stream of {}, read to the end", selection.text())
            }
            Self::Channel(selection) => format!(
                "1 stream of {}, read by one task and taken by another over a channel of {CHANNEL}",
                selection.text()
            ),
            Self::Project(projectors) => format!("1 projection of {}", projectors.text()),
            Self::ProjectStream(projectors) => {
                format!("1 projection of {}, each state seen", projectors.text())
            }
        }
    }

    /// The op on this log.
    pub(crate) fn on<B: Backend>(self, backend: &B) -> Op {
        let backend = match self.writes() {
            true => backend.clone(),
            false => backend.as_read_only(),
        };
        opened(&backend).call(move |log, _call| async move {
            self.call(&log).await?;
            Ok(Outcome::Success)
        })
    }

    fn writes(self) -> bool {
        matches!(
            self,
            Self::AppendTest(_) | Self::AppendTestIf(_) | Self::Append(_) | Self::AppendIf(_)
        )
    }

    async fn call<S: EventStore + 'static>(self, log: &Opened<S>) -> Result<(), BoxError> {
        let events = &log.events;
        match self {
            Self::AppendTest(count) => drop(events.append(test_events(count)?).await?),
            Self::AppendTestIf(count) => {
                let never = AppendCondition::fail_if_event_type("Conflicting", "test", "conflict")?;
                drop(events.append_if(test_events(count)?, never).await?);
            }
            Self::Append(count) => drop(events.append(log.workload.events(count)).await?),
            Self::AppendIf(count) => {
                let condition = log.workload.unmet_condition();
                drop(
                    events
                        .append_if(log.workload.events(count), condition)
                        .await?,
                );
            }
            Self::Query(selection) => {
                let found = events
                    .query(&selection.query()?, ReadOptions::new())
                    .await?;
                std::hint::black_box(found.events.len());
            }
            Self::Stream(selection) => {
                let query = selection.query()?;
                drain(events.query_stream(&query, ReadOptions::new()).await?).await?;
            }
            Self::Channel(selection) => {
                let query = selection.query()?;
                over_channel(events.query_stream(&query, ReadOptions::new()).await?).await?;
            }
            Self::Project(projectors) => project(events, projectors).await?,
            Self::ProjectStream(projectors) => project_stream(events, projectors).await?,
        }
        Ok(())
    }

    /// The row with a floor, if it does work that the bare driver can do too: the published projections
    /// fold in the process, and one of the published reads draws its course at random.
    pub(crate) fn with_floor(self, row: Row, log: &Log) -> Row {
        let read_only = log.as_read_only();
        let floor = match self {
            Self::AppendTest(1) | Self::AppendTestIf(1) | Self::Append(1) | Self::AppendIf(1) => {
                floors::insert_1(log)
            }
            Self::AppendTest(count)
            | Self::AppendTestIf(count)
            | Self::Append(count)
            | Self::AppendIf(count) => floors::batch(log, count),
            Self::Query(selection) | Self::Stream(selection) | Self::Channel(selection) => {
                match selection {
                    Selection::Simple => {
                        let read = Read::Tagged {
                            event_type: CourseOffered::TYPE,
                            tag: CATEGORY,
                            last: i64::MAX,
                        };
                        floors::fetched(&read_only, read, 1)
                    }
                    Selection::Complex => return row,
                    Selection::Enrollments => {
                        let read = Read::OfType {
                            event_type: EnrollmentCompleted::TYPE,
                            last: i64::MAX,
                        };
                        floors::streamed(&read_only, read)
                    }
                }
            }
            Self::Project(_) | Self::ProjectStream(_) => return row,
        };
        row.floor(&floor)
    }
}

impl Selection {
    fn text(self) -> &'static str {
        match self {
            Self::Simple => "the courses of a category",
            Self::Complex => "the courses of a category and the enrollments of a course",
            Self::Enrollments => "all enrollments",
        }
    }

    fn query(self) -> Result<Query, dcb_core::Error> {
        let courses = || {
            Query::builder()
                .event_type(CourseOffered::TYPE)
                .tag(CATEGORY)
        };
        match self {
            Self::Simple => courses().build(),
            Self::Complex => courses()
                .or()
                .event_type(EnrollmentCompleted::TYPE)
                .tag_pair("course_id", "course-1")
                .build(),
            Self::Enrollments => Query::builder()
                .event_type(EnrollmentCompleted::TYPE)
                .build(),
        }
    }
}

impl Projectors {
    fn text(self) -> &'static str {
        match self {
            Self::One => "the seats taken in a course",
            Self::Five => {
                "5 projectors: a course's capacity and seats taken, a student's limit and courses, \
                 and whether the student is enrolled"
            }
        }
    }
}

fn course() -> CourseId {
    CourseId::new("course-1")
}

fn student() -> StudentId {
    StudentId::new("student-1")
}

/// The projectors that the decision to enroll a student needs.
fn five() -> Result<impl dcb_core::Projection, dcb_core::Error> {
    let (course, student) = (course(), student());
    Ok((
        course_capacity(&course)?,
        seats_taken(&course)?,
        is_enrolled(&student, &course)?,
        max_courses(&student)?,
        courses_taken(&student)?,
    ))
}

async fn project(events: &impl EventStore, projectors: Projectors) -> Result<(), BoxError> {
    match projectors {
        Projectors::One => {
            let projected = events.project(&seats_taken(&course())?).await?;
            std::hint::black_box((projected.state, projected.condition));
        }
        Projectors::Five => {
            let projected = events.project(&five()?).await?;
            std::hint::black_box(projected.condition);
        }
    }
    Ok(())
}

async fn project_stream(events: &impl EventStore, projectors: Projectors) -> Result<(), BoxError> {
    match projectors {
        Projectors::One => each_state(events, &seats_taken(&course())?).await,
        Projectors::Five => each_state(events, &five()?).await,
    }
}

async fn each_state(
    events: &impl EventStore,
    projection: &impl dcb_core::Projection,
) -> Result<(), BoxError> {
    let mut stream = events.project_stream(projection, None).await?;
    while let Some(state_and_event) = stream.next().await.transpose()? {
        std::hint::black_box(&state_and_event.1);
    }
    std::hint::black_box(stream.finish().await?.condition);
    Ok(())
}

async fn drain(mut stream: EventStream) -> Result<(), BoxError> {
    while let Some(event) = stream.next().await.transpose()? {
        std::hint::black_box(event);
    }
    Ok(())
}

async fn over_channel(mut stream: EventStream) -> Result<(), BoxError> {
    let (sender, mut receiver) = mpsc::channel(CHANNEL);
    let reading = tokio::spawn(async move {
        while let Some(event) = stream.next().await {
            // The receiver stopped after an error.
            if sender.send(event).await.is_err() {
                break;
            }
        }
    });
    while let Some(event) = receiver.recv().await {
        std::hint::black_box(event?);
    }
    Ok(reading.await?)
}

/// Small events with two tags each. One of the two is unique.
fn test_events(count: usize) -> Result<Vec<Event>, dcb_core::Error> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let event = |_| {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Event::builder("TestEvent")
            .tag("test:single")
            .tag(format_args!("unique_id:single_{number}"))
            .data(format!(
                "{{\"value\": \"test\", \"unique_id\": \"single_{number}\"}}"
            ))
            .build()
    };
    (0..count).map(event).collect()
}
