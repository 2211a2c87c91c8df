//! The demo server's event interface under load, next to the same calls of the library.
//!
//! - **The four runs** of the published load scripts: users come and go along a ramp, draw a
//!   request, send it and pause. Each run starts on a fresh log: empty, or with 100 past events if
//!   it reads.
//! - **At a fixed rate**: the same requests, due at the rate that the pauses of 100 users allow.
//!   The latency counts from the moment a request is due.
//! - **One operation at a time**: 100 connections. Each sends its next request when the last one is
//!   answered.
//!
//! The server is this program in a second process. PostgreSQL, server and callers share the cores.

mod exchanges;
mod library;
mod store;
use crate::loads::{self, Times};
use crate::support::backend::SqliteLog;
use crate::support::content::Content;
use crate::support::log::Log;
use crate::support::server::Servers;
use crate::web_app::{self, Drawn, Scenario};
use bench::load::{HttpService, Schedule};
use bench::report::LIBRARY;
use bench::{BoxError, Goal, Row, Target};
use exchanges::Single;
use std::time::Duration;
use store::Store;

const USERS: usize = 100;

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let times = Times::for_profile(target.profile());
    loads::set_facts(target);
    let stores = [Store::Postgres(servers.local(target)), Store::Sqlite];
    for store in &stores {
        for scenario in Scenario::ALL {
            run(target, times, store, scenario);
        }
    }
    for scenario in Scenario::ALL {
        at_fixed_rate(target, times, &stores[0], scenario);
    }
    for store in &stores {
        for single in Single::ALL {
            closed(target, times, store, single);
        }
    }
    Ok(())
}

/// Requests per second that the pauses of all users allow.
fn allowed(scenario: Scenario) -> f64 {
    let kinds = scenario.kinds();
    let pauses: Duration = kinds.iter().map(Drawn::pause).sum();
    (USERS * kinds.len()) as f64 / pauses.as_secs_f64()
}

fn run(target: &mut Target, times: Times, store: &Store, scenario: Scenario) {
    let row = || row(scenario, scenario.name(), store).fills("performance_web_app");
    let peer = match (store, scenario) {
        (Store::Sqlite, _) => "none",
        (_, Scenario::Append) => "Go server here 149 requests/s",
        (_, Scenario::AppendIf) => "Go server here 184 requests/s",
        (_, Scenario::Read) => "Go server here 1,874 requests/s, half of them answered 400",
        (_, Scenario::Project) => "Go server here 820 requests/s",
    };
    let goals = row()
        .goal(Goal::share_of_allowed(0.95).peer(peer))
        .goal(Goal::p99(Duration::from_millis(50)))
        .goal(Goal::no_failed_call());
    let ramp = web_app::ramp();
    let schedule = Schedule::Users(ramp.scaled_to(times.ramp));
    load_server(target, goals, schedule, store, scenario);
    let schedule = Schedule::Users(ramp.scaled_to(times.library_ramp));
    load_library(target, row().variant(LIBRARY), schedule, store, scenario);
}

fn at_fixed_rate(target: &mut Target, times: Times, store: &Store, scenario: Scenario) {
    let operation = format!("{}, fixed rate", scenario.name());
    let row = || row(scenario, &operation, store).fills("performance_fixed_rate");
    let schedule = times.open(allowed(scenario), USERS);
    let goal = row().goal(Goal::no_failed_call());
    load_server(target, goal, schedule.clone(), store, scenario);
    load_library(target, row().variant(LIBRARY), schedule, store, scenario);
}

fn row(scenario: Scenario, operation: &str, store: &Store) -> Row {
    let (events, what) = match scenario {
        Scenario::Append => (
            11,
            "1 to 50 events, 11 on average; an eighth of the requests under a condition that must \
             hold, an eighth under one that must fail",
        ),
        Scenario::AppendIf => (
            4,
            "1 to 20 events, 4 on average, all but a seventh of the requests under a condition that \
             must hold",
        ),
        Scenario::Read => (
            0,
            "a query that finds nothing, in an eighth of the requests one for all events of a log \
             of 100",
        ),
        Scenario::Project => (
            0,
            "one to three projectors that find nothing, in a sixth of the requests after position \
             1,000, in a log of 100",
        ),
    };
    Row::new(operation, store.name())
        .concurrency(USERS)
        .events(events)
        .one_op(what)
}

/// The content of the log before a run.
fn content(scenario: Scenario) -> Content {
    match scenario {
        Scenario::Append | Scenario::AppendIf => Content::Empty,
        Scenario::Read | Scenario::Project => Content::Past,
    }
}

fn load_server(
    target: &mut Target,
    row: Row,
    schedule: Schedule,
    store: &Store,
    scenario: Scenario,
) {
    let load = loads::load(schedule, store, move |store| async move {
        let server = store.serve(content(scenario)).await?;
        if let Some(request) = scenario.needs() {
            // One append of the run must conflict, so the event that it conflicts with must exist.
            server.ask(exchanges::exchange(request)).await?;
        }
        let draws = move |user| exchanges::drawn(scenario, user);
        Ok(HttpService::new(server.address(), draws, server))
    });
    target.load(row, load);
}

fn load_library(
    target: &mut Target,
    row: Row,
    schedule: Schedule,
    store: &Store,
    scenario: Scenario,
) {
    let load = match store {
        Store::Postgres(server) => {
            let log = Log::new(server, content(scenario));
            loads::load(schedule, &log, move |log| library::drawn(log, scenario))
        }
        Store::Sqlite => {
            let log = SqliteLog::new(content(scenario));
            loads::load(schedule, &log, move |log| library::drawn(log, scenario))
        }
    };
    target.load(row, load);
}

fn closed(target: &mut Target, times: Times, store: &Store, single: Single) {
    let row = || {
        Row::new(single.name(), store.name())
            .concurrency(USERS)
            .events(single.events())
            .one_op(single.text())
            .fills("performance_closed")
    };
    let goals = match (store, single) {
        (Store::Sqlite, _) => row(),
        (Store::Postgres(_), Single::Append | Single::AppendIf) => row()
            .goal(Goal::calls_per_second(12_000.0))
            .goal(Goal::p99(Duration::from_millis(25))),
        (Store::Postgres(_), Single::Count | Single::Read) => {
            row().goal(Goal::calls_per_second(10_000.0))
        }
    };
    let load = loads::load(times.closed(USERS), store, move |store| async move {
        let server = store.serve(single.content()).await?;
        let next = move |caller| single.exchanges(caller);
        Ok(HttpService::new(server.address(), next, server))
    });
    target.load(goals.goal(Goal::no_failed_call()), load);
    let load = match store {
        Store::Postgres(server) => {
            let log = Log::new(server, single.content());
            loads::load(times.closed(USERS), &log, move |log| {
                library::single(log, single)
            })
        }
        Store::Sqlite => {
            let log = SqliteLog::new(single.content());
            loads::load(times.closed(USERS), &log, move |log| {
                library::single(log, single)
            })
        }
    };
    target.load(row().variant(LIBRARY), load);
}
