//! Decide: reads, decides and appends, by callers that each make their next decision when the last
//! one is answered.
//!
//! - **One boundary**: all callers decide on the same course; after 1,000 decisions on the next one.
//!   So a decision folds 500 events on average, and decisions follow each other in a lane. With
//!   *capacity reached*, a course has 500 seats, and every second decision is a refusal.
//! - **1,000 boundaries**: the callers take turns on 1,000 courses.
//! - **Cold**: the store keeps nothing of a boundary, so a lone caller reads it for each decision.
//! - **`append_if` alone**: the append of the same event under the same condition, after the last event
//!   of the course, which the caller remembers. A warm decision can't be cheaper.
//! - **Refused**: each decision but the first of a course is a refusal. **Look alone** is the read that
//!   proves one: a look by key for an event after the last one.
//! - **A boundary of 100,000 events**: one course, which has that many enrollments before the first call.
//!   With *state kept*, the projection has a name, so the store keeps the count instead of the events;
//!   without, each decision reads the whole course.
//! - **By hand**: the same work without a lane: a projection, then an append under its condition.
//! - **Two stores**: each with half of the callers, as two processes would have them. Their decisions
//!   collide, and one store's lane has to decide again.
//! - **Two logs**: two stores, each with half of the callers and a log that the other does not use, in
//!   one server or in two.

use crate::support::content::Content;
use crate::support::log::{Log, Store};
use crate::support::server::{Server, Servers};
use bench::load::{DatabaseWork, Direct, DirectService, Load, Schedule, Service};
use bench::{BoxError, Goal, Outcome, Profile, Row, Target};
use dcb_core::sqlite::{Config, SqliteStore};
use dcb_core::{
    AnyStore, AppendCondition, Bookmark, DecisionModel, Error, Event, EventStore, Position,
    Projector, Query, ReadOptions, Stats,
};
use local_postgres::Database;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// Decisions on one course, before the callers go on to the next.
const PER_COURSE: u64 = 1_000;
/// Courses between which the callers alternate.
const COURSES: u64 = 1_000;
const CALLERS: [usize; 4] = [1, 10, 100, 1_000];

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let servers = [servers.local(target), servers.second(target)];
    target.facts().set(
        "SQLite's durability",
        "WAL, synchronous=FULL, one fsync a commit, in the folder for temporary files",
    );
    let profile = target.profile().clone();
    for backend in [Backend::Postgres, Backend::SqliteFile] {
        let mut add = |row: Row, work: Work| {
            let schedule = schedule(&profile, work.callers());
            let servers = servers.clone();
            let load = Load::new(schedule, move || {
                let servers = servers.clone();
                async move { service(backend, &servers, work).await }
            });
            target.load(
                row.goal(Goal::no_failed_call()).fills("decisions_decide"),
                load,
            );
        };
        for callers in CALLERS {
            let row = row(backend, callers, "One boundary");
            let row = match callers {
                100 => row
                    .goal(Goal::calls_per_second(backend.reach()))
                    .goal(Goal::p99(Duration::from_millis(20))),
                _ => row,
            };
            add(row, Work::new(callers));
        }
        let one = Work::new(1);
        let many = Work::new(100);
        let over_many = Work {
            alternates: true,
            ..many
        };
        let capacity = PER_COURSE / 2;
        let works = [
            ("by hand", one.with(Way::ByHand)),
            (
                "cold",
                Work {
                    is_cold: true,
                    ..one
                },
            ),
            ("append_if alone", one.with(Way::AppendIf)),
            ("refused", Work { capacity: 1, ..one }),
            ("look alone", one.with(Way::Look)),
            ("capacity reached", Work { capacity, ..many }),
            ("two stores", Work { stores: 2, ..many }),
            ("", over_many),
            ("append_if alone", over_many.with(Way::AppendIf)),
            (
                "two stores",
                Work {
                    stores: 2,
                    ..over_many
                },
            ),
            ("by hand", over_many.with(Way::ByHand)),
        ];
        for (variant, work) in works {
            let boundaries = match work.alternates {
                true => "1,000 boundaries",
                false => "One boundary",
            };
            let row = row(backend, work.callers, boundaries);
            add(named(row, variant), work);
        }
        let filled = match profile.is_smoke() {
            true => 12_000,
            false => 100_000,
        };
        let large = Work { filled, ..one };
        for (variant, work) in [
            (
                "state kept",
                Work {
                    keeps_state: true,
                    ..large
                },
            ),
            ("append_if alone", large.with(Way::AppendIf)),
            ("full read", large),
        ] {
            let row = row(backend, 1, "A boundary of 100,000 events");
            add(named(row, variant), work);
        }
        if let Backend::Postgres = backend {
            for (servers, variant) in [(1, "two logs"), (2, "two logs, two servers")] {
                let row = row(backend, 100, "1,000 boundaries").variant(variant);
                let (stores, logs) = (2, 2);
                add(
                    row,
                    Work {
                        stores,
                        logs,
                        servers,
                        ..over_many
                    },
                );
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Backend {
    Postgres,
    SqliteFile,
}

impl Backend {
    fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::SqliteFile => "SQLite file",
        }
    }

    /// The decisions a second of 100 callers on one boundary to reach.
    fn reach(self) -> f64 {
        match self {
            Self::Postgres => 15_000.0,
            Self::SqliteFile => 25_000.0,
        }
    }
}

/// The work of the callers.
#[derive(Clone, Copy, Debug)]
struct Work {
    callers: usize,
    stores: usize,
    /// The logs between which the stores are divided, and the servers between which the logs are.
    logs: usize,
    servers: usize,
    /// Seats of a course.
    capacity: u64,
    /// Whether the callers alternate between courses.
    alternates: bool,
    /// Whether the stores keep nothing of a boundary that they have decided on.
    is_cold: bool,
    /// Events of the first course before the first call. If there are some, it is the only course.
    filled: u64,
    /// Whether the store keeps the number of seats instead of the events.
    keeps_state: bool,
    way: Way,
}

/// The work of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Decide,
    /// Projects, and appends under the condition.
    ByHand,
    /// Appends after the last event that the callers remember.
    AppendIf,
    /// Looks for an event after the last one.
    Look,
}

impl Work {
    fn new(callers: usize) -> Self {
        Self {
            callers,
            stores: 1,
            logs: 1,
            servers: 1,
            capacity: u64::MAX,
            alternates: false,
            is_cold: false,
            filled: 0,
            keeps_state: false,
            way: Way::Decide,
        }
    }

    fn with(self, way: Way) -> Self {
        Self { way, ..self }
    }

    fn callers(self) -> usize {
        self.callers
    }

    fn lane_cache_bytes(self, default: usize) -> usize {
        match self.is_cold {
            true => 0,
            false => default,
        }
    }

    /// The course of the decision with this number.
    fn course(self, decision: u64) -> String {
        let course = match self.alternates {
            _ if self.filled > 0 => 0,
            // Begins new courses after as many decisions on each.
            true => decision / (COURSES * PER_COURSE) * COURSES + decision % COURSES,
            false => decision / PER_COURSE,
        };
        format!("course_id:c{course}")
    }
}

fn row(backend: Backend, callers: usize, boundaries: &str) -> Row {
    Row::new("Decide", &format!("{boundaries}, {}", backend.name()))
        .concurrency(callers)
        .one_op("1 decision over a course: an enrollment of 1 event, unless the course is full")
}

fn named(row: Row, variant: &str) -> Row {
    match variant {
        "" => row,
        variant => row.variant(variant),
    }
}

fn schedule(profile: &Profile, callers: usize) -> Schedule {
    let [time, warm_up] = if profile.is_smoke() {
        [0.2, 0.05]
    } else if profile.is_full() {
        [10.0, 2.0]
    } else {
        [1.2, 0.25]
    };
    Schedule::Closed {
        callers,
        warm_up: Duration::from_secs_f64(warm_up),
        time: Duration::from_secs_f64(time),
    }
}

async fn service(
    backend: Backend,
    servers: &[Arc<Server>; 2],
    work: Work,
) -> Result<impl Service + use<>, BoxError> {
    let stores = Arc::new(Stores::open(backend, servers, work).await?);
    let decisions = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&stores);
    let service = DirectService::new(move |caller| {
        let (stores, decisions) = (Arc::clone(&stores), Arc::clone(&decisions));
        move || {
            let stores = Arc::clone(&stores);
            // Relaxed: the number only spreads the decisions over the courses.
            let course = work.course(decisions.fetch_add(1, Ordering::Relaxed));
            Direct::new(async move {
                let store = &stores.opened[caller % stores.opened.len()];
                match work.way {
                    Way::Decide => decide(store, &course, work).await,
                    Way::ByHand => by_hand(store, &course).await,
                    Way::AppendIf => append_if(store, &course, &stores.last).await,
                    Way::Look => look(store, &course, &stores.last).await,
                }
            })
        }
    });
    Ok(service.counts(move || counted.work()))
}

/// The stores of the callers.
struct Stores {
    opened: Vec<AnyStore>,
    /// The last event of each course, for calls that remember it.
    last: Mutex<HashMap<String, Position>>,
    _databases: Vec<Arc<Database>>,
    _folder: TempDir,
}

impl Stores {
    fn work(&self) -> DatabaseWork {
        let stats: Vec<Stats> = self.opened.iter().map(EventStore::stats).collect();
        DatabaseWork {
            reads: stats.iter().map(|stats| stats.reads).sum(),
            commits: stats.iter().map(|stats| stats.commits).sum(),
        }
    }

    async fn open(
        backend: Backend,
        servers: &[Arc<Server>; 2],
        work: Work,
    ) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        let mut databases = Vec::new();
        if let Backend::Postgres = backend {
            for log in 0..work.logs {
                let server = &servers[log % work.servers];
                databases.push(Log::new(server, Content::Empty).renewed().await?);
            }
        }
        let mut opened = Vec::new();
        for store in 0..work.stores {
            opened.push(match backend {
                Backend::Postgres => {
                    let database = Arc::clone(&databases[store % databases.len()]);
                    let store = Store::configured(database, |config| {
                        config.lane_cache_bytes = work.lane_cache_bytes(config.lane_cache_bytes);
                    });
                    AnyStore::Postgres(store.await?.events)
                }
                Backend::SqliteFile => {
                    let mut config = Config::file(folder.path().join("log.db"));
                    config.lane_cache_bytes = work.lane_cache_bytes(config.lane_cache_bytes);
                    AnyStore::Sqlite(SqliteStore::open(config).await?)
                }
            });
        }
        let last = match work.filled {
            0 => HashMap::new(),
            events => fill(&opened[0], &work.course(0), events).await?,
        };
        Ok(Self {
            opened,
            last: Mutex::new(last),
            _databases: databases,
            _folder: folder,
        })
    }
}

/// Enrolls this many students. Returns the last event of the course.
async fn fill(
    store: &AnyStore,
    course: &str,
    events: u64,
) -> Result<HashMap<String, Position>, BoxError> {
    /// Events of one append.
    const BATCH: u64 = 1_000;
    let mut last = HashMap::new();
    for _ in 0..events / BATCH {
        let batch = (0..BATCH).map(|_| enrollment(course));
        let appended = store.append(batch.collect::<Result<Vec<_>, _>>()?).await?;
        last.insert(course.to_owned(), appended.last());
    }
    Ok(last)
}

async fn decide(store: &AnyStore, course: &str, work: Work) -> Result<Outcome, BoxError> {
    let taken = Projector::counter(seats(course)?);
    let model = DecisionModel::new(match work.keeps_state {
        true => taken.keep("seats taken", 1),
        false => taken,
    });
    let decided = model.decide(store, |taken| match taken < work.capacity {
        true => Ok(vec![enrollment(course)?]),
        false => Ok::<_, Error>(Vec::new()),
    });
    let decided = decided.await?;
    Ok(match decided.appended {
        Some(_) => Outcome::Success,
        None => Outcome::Refused,
    })
}

async fn by_hand(store: &AnyStore, course: &str) -> Result<Outcome, BoxError> {
    let taken = Projector::counter(seats(course)?);
    let projected = store.project(&taken).await?;
    let enrolled = enrollment(course)?;
    store.append_if(enrolled, projected.condition).await?;
    Ok(Outcome::Success)
}

type Last = Mutex<HashMap<String, Position>>;

fn last_of(last: &Last, course: &str) -> Option<Bookmark> {
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    last.get(course).copied().map(Bookmark::from)
}

async fn append_if(store: &AnyStore, course: &str, last: &Last) -> Result<Outcome, BoxError> {
    let unchanged = AppendCondition::fail_if(seats(course)?).after(last_of(last, course));
    let appended = store.append_if(enrollment(course)?, unchanged).await?;
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    last.insert(course.to_owned(), appended.last());
    Ok(Outcome::Success)
}

/// The first call on a course appends the event after which the others look.
async fn look(store: &AnyStore, course: &str, last: &Last) -> Result<Outcome, BoxError> {
    let Some(after) = last_of(last, course) else {
        return append_if(store, course, last).await;
    };
    let next = ReadOptions::new().after(after).limit(1);
    let found = store.query(&seats(course)?, next).await?;
    Ok(match found.events.is_empty() {
        true => Outcome::Success,
        false => Outcome::Refused,
    })
}

/// The events that take a seat of the course.
fn seats(course: &str) -> Result<Query, Error> {
    let taken = Query::builder().event_type("EnrollmentCompleted");
    taken.tag(course).build()
}

fn enrollment(course: &str) -> Result<Event, Error> {
    let enrolled = Event::builder("EnrollmentCompleted").tag(course);
    enrolled.json(&serde_json::json!({"grade": "A"})).build()
}
