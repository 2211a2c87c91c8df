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
//!   without, each decision reads the whole course. *Restarted, state stored* is the first decision of a
//!   process: each call begins with a store that keeps nothing in memory and has the count in its database.
//! - **By hand**: the same work without a lane: a projection, then an append under its condition.
//! - **Two stores**: each with half of the callers, as two processes would have them. Their decisions
//!   collide, and one store's lane has to decide again.
//! - **Two logs**: two stores, each with half of the callers and a log that the other does not use, in
//!   one server or in two.

mod calls;
mod rows;
mod stores;
mod work;

use crate::support::server::{Server, Servers};
use bench::load::{Direct, DirectService, Load, Schedule, Service};
use bench::{BoxError, Goal, Profile, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use stores::Stores;
use work::{Backend, Way, Work};

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let servers = [servers.local(target), servers.second(target)];
    target.facts().set(
        "SQLite's durability",
        "WAL, synchronous=FULL, one fsync a commit, in the folder for temporary files",
    );
    let profile = target.profile().clone();
    for backend in [Backend::Postgres, Backend::SqliteFile] {
        for rows in rows::taking_turns(backend, &profile) {
            let loads = rows.into_iter().map(|(row, work)| {
                let servers = servers.clone();
                let load = Load::new(schedule(&profile, work.callers), move || {
                    let servers = servers.clone();
                    async move { service(backend, &servers, work).await }
                });
                let row = row.goal(Goal::no_failed_call()).fills("decisions_decide");
                (row, load)
            });
            target.take_turns(loads.collect());
        }
    }
    Ok(())
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
                    Way::Decide => calls::decide(store, &course, work).await,
                    Way::ByHand => calls::by_hand(store, &course).await,
                    Way::AppendIf => calls::append_if(store, &course, &stores.last).await,
                    Way::Look => calls::look(store, &course, &stores.last).await,
                }
            })
        }
    });
    Ok(service.counts(move || counted.work()))
}
