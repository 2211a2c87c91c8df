//! The demo server's series interface: its handlers in the process, and the server under load.
//!
//! - **/health** and **/metrics**, as published: the op includes making the request, and there is
//!   no socket. One row calls the handler directly, another goes through the router and all its
//!   layers.
//! - **Over a socket**: 16 connections. Each sends its next request when the last one is answered.
//!   The server is this program in a second process and shares the cores with the callers.

use crate::loads::{self, SameAnswer, Times};
use crate::points::data::START_MS;
use crate::points::json::{accepted, batch, keep_all, single};
use crate::process::ServerProcess;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bench::load::{Direct, DirectService, Exchange, Exchanges, HttpService};
use bench::report::LIBRARY;
use bench::{BoxError, Goal, Op, Outcome, Row, Target};
use demo_server::{App, Settings, handlers, router};
use futures_util::FutureExt as _;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tower::ServiceExt as _;
use tsdb::wire::json::{self, Query};

const CALLERS: usize = 16;
const HEALTH: &str = "/health";

pub(crate) fn declare(target: &mut Target) -> Result<(), BoxError> {
    let times = Times::for_profile(target.profile());
    loads::set_facts(target);
    handler_rows(target)?;
    for work in Work::ALL {
        socket_rows(target, times, work);
    }
    Ok(())
}

/// A server without a socket.
#[derive(Clone)]
struct InProcess {
    app: App,
    router: Router,
}

fn handler_rows(target: &mut Target) -> Result<(), BoxError> {
    let app = target.block_on(async { Ok(App::open(Settings::in_memory()).await?) })?;
    let server = InProcess {
        router: router(&app),
        app,
    };
    for (name, path, peer) in [
        ("/health", HEALTH, "its Go handler here 2.76 µs"),
        ("/metrics", "/series/metrics", "its Go handler here 3.44 µs"),
    ] {
        let row = |way: &str, one_op: String| {
            Row::new(name, "none")
                .steady()
                .events(0)
                .variant(way)
                .one_op(one_op)
                .fills("tsdb_http")
        };
        let goal = Goal::mean(Duration::from_nanos(700)).peer(peer);
        let handler = row(
            "handler",
            format!("`GET {path}` is made, and its handler called"),
        );
        target.row(handler.goal(goal), &called(&server, path));
        let routed = row(
            "router",
            format!("`GET {path}` is made, and goes through the router"),
        );
        target.row(routed, &routed_op(&server, path));
    }
    Ok(())
}

fn called(server: &InProcess, path: &'static str) -> Op {
    let server = server.clone();
    Op::blocking(move || Ok(server.clone())).call(move |server, _| {
        let request = get(path)?;
        let response = match path {
            HEALTH => {
                // This handler takes no request.
                black_box(request);
                at_once(handlers::health(&server.app))
            }
            _ => at_once(handlers::series_metrics(&server.app, request)),
        };
        is_ok(response?)
    })
}

fn routed_op(server: &InProcess, path: &'static str) -> Op {
    let server = server.clone();
    Op::blocking(move || Ok(server.clone())).call(move |server, _| {
        let routed = server.router.clone().oneshot(get(path)?);
        is_ok(at_once(routed)??)
    })
}

fn get(path: &'static str) -> Result<Request, BoxError> {
    Ok(Request::get(path).body(Body::empty())?)
}

/// The result of a future that never waits.
fn at_once<T>(future: impl Future<Output = T>) -> Result<T, BoxError> {
    let done = future.now_or_never();
    done.ok_or_else(|| "a handler waited".into())
}

fn is_ok(response: Response) -> Result<Outcome, BoxError> {
    match black_box(response).status().as_u16() {
        200 => Ok(Outcome::Success),
        status => Err(format!("answered {status}").into()),
    }
}

/// The requests that go over a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Write { points: usize },
    Query { points: usize },
}

impl Work {
    const ALL: [Self; 3] = [
        Self::Write { points: 1 },
        Self::Write { points: 100 },
        Self::Query { points: 100 },
    ];

    fn path(self) -> &'static str {
        match self {
            Self::Write { .. } => "/series/write",
            Self::Query { .. } => "/series/query",
        }
    }

    fn points(self) -> usize {
        let (Self::Write { points } | Self::Query { points }) = self;
        points
    }

    /// A body: points with new timestamps, or a query for all points.
    fn body(self) -> String {
        static NEXT_MS: AtomicI64 = AtomicI64::new(START_MS);
        let points = self.points() as i64;
        match self {
            Self::Write { points: 1 } => single(NEXT_MS.fetch_add(1, Ordering::Relaxed)),
            Self::Write { points: count } => {
                batch(count, NEXT_MS.fetch_add(points, Ordering::Relaxed))
            }
            Self::Query { .. } => format!(
                r#"{{"metric":"cpu_usage","start":{START_MS},"end":{}}}"#,
                START_MS + points
            ),
        }
    }

    /// The requests of a caller.
    fn exchanges(self) -> Exchanges {
        match self {
            Self::Write { .. } => {
                let written = format!(r#"{{"written":{}}}"#, self.points());
                Box::new(move || {
                    let written = written.clone();
                    Exchange::post(self.path(), self.body()).judge(move |answer| {
                        match answer.body == written.as_bytes() {
                            true => Ok(Outcome::Success),
                            false => Err(format!("{:?} is not {written}", answer.body).into()),
                        }
                    })
                })
            }
            Self::Query { .. } => {
                let same = SameAnswer::new(|answer| answer["count"] == 100);
                Box::new(move || same.judge(Exchange::post(self.path(), self.body())))
            }
        }
    }
}

fn socket_rows(target: &mut Target, times: Times, work: Work) {
    let row = || {
        Row::new(work.path(), "memory")
            .concurrency(CALLERS)
            .events(work.points() as u64)
            .one_op(match work {
                Work::Write { points: 1 } => "1 point, never sent before".to_owned(),
                Work::Write { points } => format!("{points} points that were not sent before"),
                Work::Query { points } => format!("all {points} points of a metric"),
            })
            .fills("tsdb_load")
    };
    let load = loads::load(times.closed(CALLERS), &work, |work| async move {
        let server = ServerProcess::start(&[], ()).await?;
        if matches!(work, Work::Query { .. }) {
            let points = batch(work.points(), START_MS);
            server.ask(Exchange::post("/series/write", points)).await?;
        }
        let next = move |_| work.exchanges();
        Ok(HttpService::new(server.address(), next, server))
    });
    target.load(row().goal(Goal::no_failed_call()), load);
    let library = loads::load(times.closed(CALLERS), &work, |work| async move {
        let db = Arc::new(keep_all());
        // The queries read these points.
        accepted(&json::write(&db, batch(work.points(), START_MS).as_bytes()))?;
        Ok(DirectService::new(move |_| {
            let db = Arc::clone(&db);
            move || {
                let (db, body) = (Arc::clone(&db), work.body());
                Direct::new(async move {
                    match work {
                        Work::Write { .. } => accepted(&json::write(&db, body.as_bytes()))?,
                        Work::Query { .. } => {
                            let query = Query::read(body.as_bytes())?;
                            let mut pieces = query.pieces(&query.select(&db));
                            let mut answer = Vec::new();
                            while pieces.write_next(&mut answer) {}
                            black_box(answer);
                        }
                    }
                    Ok(Outcome::Success)
                })
            }
        }))
    });
    target.load(row().variant(LIBRARY), library);
}
