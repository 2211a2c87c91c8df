//! The work of a peer that stores events.

mod deliver;
mod rush;

use crate::calls::{Caller, Outcome, make_calls};
use crate::{
    Answer, Condition, ContentSize, Dataset, Failure, History, NewEvent, Operation, Peer,
    QueryItem, Race, Read, Run,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use uuid::Uuid;

/// Seats of a course that decisions fill.
pub(crate) const SEATS: u64 = 30;
/// Events of one append while the dataset is loaded.
const LOADED_AT_ONCE: usize = 1_000;

/// A store of events, as its own documentation says to use it.
pub trait EventPeer: Send + Sync + 'static {
    /// Whether calls block their thread. Then each caller has a thread, else it is a task.
    const BLOCKS: bool;

    /// Appends the events if the condition holds, and returns the position of the last one.
    fn append(
        &self,
        events: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> impl Future<Output = Result<u64, Failure>> + Send;

    /// Reads the events after a position that match one of the items; without items, all events.
    fn read(
        &self,
        items: &[QueryItem],
        after: Option<u64>,
    ) -> impl Future<Output = Result<Read, Failure>> + Send;

    /// Subscribes to all events after a position, and gives the position of each to `deliver` until this
    /// future is dropped.
    fn follow(
        &self,
        after: u64,
        deliver: impl Fn(u64) + Send + Sync,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = (after, deliver);
        async {
            Err(Failure::Other(
                "no subscription of it is measured".to_owned(),
            ))
        }
    }

    /// Gives `decide` the number of events that match `boundary`, and appends the event that it
    /// returns if no other has come. After a conflict it begins again. Returns the number of events
    /// that it appended.
    fn decide(
        &self,
        boundary: QueryItem,
        decide: impl Fn(u64) -> Option<NewEvent> + Send + Sync,
    ) -> impl Future<Output = Result<u64, Failure>> + Send {
        async move {
            let items = vec![boundary];
            loop {
                let read = self.read(&items, None).await?;
                let Some(event) = decide(read.events.len() as u64) else {
                    return Ok(0);
                };
                let condition = Condition {
                    items: items.clone(),
                    after: read.head,
                };
                match self.append(vec![event], Some(condition)).await {
                    Err(Failure::Conflict) => {}
                    appended => return appended.map(|_| 1),
                }
            }
        }
    }
}

/// A [`Peer`] that stores events.
pub struct Events<P> {
    shared: Arc<Shared<P>>,
    /// Runs so far, so that each run has new courses.
    runs: u64,
}

struct Shared<P> {
    peer: Arc<P>,
    dataset: Dataset,
    /// The last position of the log that a caller has seen.
    last: AtomicU64,
    /// The first student on whom no cold decision was made.
    undecided: AtomicUsize,
}

impl<P: EventPeer> Shared<P> {
    /// Events of an earlier run are no reason for a conflict.
    async fn see_head(&self) -> Result<(), Failure> {
        let nothing = [QueryItem::tag("course:none".to_owned())];
        let head = self.peer.read(&nothing, None).await?.head;
        self.last.fetch_max(head.unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }
}

impl<P: EventPeer> Events<P> {
    /// A peer with this store, which is empty.
    pub fn new(peer: P) -> Self {
        let none = ContentSize {
            events: 0,
            payload_bytes: 0,
            seed: 0,
        };
        Self {
            shared: Arc::new(Shared {
                peer: Arc::new(peer),
                dataset: Dataset::new(none),
                last: AtomicU64::new(0),
                undecided: AtomicUsize::new(0),
            }),
            runs: 0,
        }
    }

    fn with_dataset(&mut self, size: ContentSize) -> Result<&mut Shared<P>, Failure> {
        let Some(shared) = Arc::get_mut(&mut self.shared) else {
            return Err(Failure::Other("a run has not ended".to_owned()));
        };
        shared.dataset = Dataset::new(size);
        Ok(shared)
    }
}

impl<P: EventPeer> Peer for Events<P> {
    async fn prepare(&mut self, size: ContentSize) -> Result<Option<u64>, Failure> {
        let shared = self.with_dataset(size)?;
        let mut events = shared.dataset.events().peekable();
        while events.peek().is_some() {
            let page: Vec<NewEvent> = events.by_ref().take(LOADED_AT_ONCE).collect();
            *shared.last.get_mut() = shared.peer.append(page, None).await?;
        }
        Ok(Some(*shared.last.get_mut()))
    }

    async fn resume(&mut self, size: ContentSize) -> Result<Option<u64>, Failure> {
        let shared = self.with_dataset(size)?;
        shared.see_head().await?;
        Ok(Some(*shared.last.get_mut()))
    }

    async fn run(&mut self, run: &Run) -> Answer {
        self.runs += 1;
        if let Err(failure) = self.shared.see_head().await {
            let mut answer = Answer::default();
            answer.fail(failure.to_string());
            return answer;
        }
        if run.operation == Operation::Rush {
            return rush::rush(&self.shared, run, self.runs).await;
        }
        let callers = (0..run.callers).map(|number| EventCaller {
            shared: Arc::clone(&self.shared),
            operation: run.operation,
            number,
            callers: run.callers,
            run: self.runs,
            random: StdRng::seed_from_u64(self.runs << 32 | number as u64),
        });
        if run.operation == Operation::Deliver {
            return deliver::deliver(&self.shared, run, callers.collect()).await;
        }
        make_calls(run, P::BLOCKS, callers.collect()).await
    }

    async fn race(&mut self, race: &Race) -> Result<History, Failure> {
        crate::race::race(&self.shared.peer, race).await
    }
}

struct EventCaller<P> {
    shared: Arc<Shared<P>>,
    operation: Operation,
    number: usize,
    callers: usize,
    run: u64,
    random: StdRng,
}

impl<P: EventPeer> Caller for EventCaller<P> {
    async fn call(&mut self, call: u64) -> Outcome {
        match self.operation {
            Operation::AppendIf => self.append_if().await.map(|_| 1),
            Operation::AppendBatch { events } => self.append_batch(events).await,
            Operation::ReadCourse { events } => {
                let course = self.random.random_range(0..Dataset::COURSES_OF_A_SIZE);
                self.read_course(Dataset::scattered_course(events, course), events)
                    .await
            }
            Operation::ReadAnyCourse => {
                let Shared { dataset, .. } = &*self.shared;
                let course = dataset.course(self.random.random_range(0..dataset.courses()));
                self.read_course(course, Dataset::EVENTS_OF_A_COURSE).await
            }
            Operation::ReadLog => self.read_log().await,
            Operation::Decide { courses } => self.decide(courses, call).await,
            Operation::DecideCold => self.decide_cold().await,
            other => Err(Failure::Other(format!(
                "a store of events has no {other:?}"
            ))),
        }
    }
}

impl<P: EventPeer> EventCaller<P> {
    /// Appends one event, and returns its position.
    async fn append_if(&mut self) -> Result<u64, Failure> {
        let Shared {
            peer,
            dataset,
            last,
            ..
        } = &*self.shared;
        // Each caller has its own students, so no append conflicts.
        let own = self
            .random
            .random_range(0..dataset.students().div_ceil(self.callers));
        let student = Dataset::student(own * self.callers + self.number);
        // No course of the dataset: those keep the number of events that reads expect.
        let course = format!("course:new-{}", self.random.random_range(0..1_000));
        let condition = Condition {
            items: vec![QueryItem {
                types: vec!["StudentEnrolled".to_owned()],
                tags: vec![student.clone()],
            }],
            after: Some(last.load(Ordering::Relaxed)),
        };
        let event = dataset.event("StudentEnrolled", vec![course, student]);
        let position = peer.append(vec![event], Some(condition)).await?;
        last.fetch_max(position, Ordering::Relaxed);
        Ok(position)
    }

    async fn append_batch(&mut self, events: usize) -> Outcome {
        let tag = format!("import:{}", Uuid::from_u128(self.random.random()));
        let dataset = &self.shared.dataset;
        let batch = (0..events).map(|event| {
            dataset.event(
                "StudentImported",
                vec![tag.clone(), Dataset::student(event)],
            )
        });
        let condition = Condition {
            items: vec![QueryItem::tag(tag.clone())],
            after: None,
        };
        let appended = self.shared.peer.append(batch.collect(), Some(condition));
        appended.await.map(|_| events as u64)
    }

    async fn read_course(&self, course: String, events: usize) -> Outcome {
        let items = [QueryItem::tag(course)];
        let found = self.shared.peer.read(&items, None).await?.events.len();
        if found == events {
            return Ok(found as u64);
        }
        Err(Failure::Other(format!(
            "a course of {events} events has {found}"
        )))
    }

    async fn read_log(&self) -> Outcome {
        let loaded = self.shared.dataset.size().events;
        let found = self.shared.peer.read(&[], None).await?.events.len();
        // Other rows may have appended more.
        if found >= loaded {
            return Ok(found as u64);
        }
        Err(Failure::Other(format!(
            "a log of {loaded} events has {found}"
        )))
    }

    async fn decide(&mut self, courses: u64, call: u64) -> Outcome {
        // Once all seats of its courses are taken, a caller goes on to new courses.
        let own = (courses / self.callers as u64).max(1);
        let (course, generation) = (call % own, call / (own * SEATS));
        let tag = format!("course:{}-{}-{course}-{generation}", self.run, self.number);
        let student = Dataset::student(self.random.random_range(0..self.shared.dataset.students()));
        decide_on_course(&*self.shared, tag, student).await
    }

    async fn decide_cold(&mut self) -> Outcome {
        let Shared {
            peer,
            dataset,
            undecided,
            ..
        } = &*self.shared;
        let student = undecided.fetch_add(1, Ordering::Relaxed);
        if student >= dataset.students() {
            return Err(Failure::Other("every student was decided on".to_owned()));
        }
        let tag = Dataset::student(student);
        let renamed = |_| Some(dataset.event("StudentRenamed", vec![tag.clone()]));
        peer.decide(QueryItem::tag(tag.clone()), renamed).await
    }
}

/// Enrolls a student in a course that has a free seat.
async fn decide_on_course<P: EventPeer>(
    shared: &Shared<P>,
    course: String,
    student: String,
) -> Outcome {
    let enroll = |taken| {
        let tags = vec![course.clone(), student.clone()];
        (taken < SEATS).then(|| shared.dataset.event("StudentEnrolled", tags))
    };
    shared
        .peer
        .decide(QueryItem::tag(course.clone()), enroll)
        .await
}
