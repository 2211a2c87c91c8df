//! Loads: the times of calls, the counts, and their page.

use crate::common::{FIRST, Folders};
use bench::load::{
    Direct, DirectService, Exchange, Exchanges, HttpService, Load, LoadFigures, Ramp, Schedule,
    Stage,
};
use bench::report::{LIBRARY, Page, render};
use bench::{BoxError, Error, Goal, Measured, Outcome, Row, Target, measure};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tokio::net::TcpListener;

const MS: Duration = Duration::from_millis(1);

fn closed(callers: usize) -> Schedule {
    Schedule::Closed {
        callers,
        warm_up: Duration::ZERO,
        time: 30 * MS,
    }
}

/// A load of instant calls. `outcome` gets the number of a call and returns its outcome.
fn counted(
    schedule: Schedule,
    outcome: impl Fn(usize) -> Result<Outcome, BoxError> + Clone + Send + Sync + 'static,
) -> Load {
    Load::new(schedule, move || {
        let outcome = outcome.clone();
        let made = Arc::new(AtomicUsize::new(0));
        async move {
            Ok(DirectService::new(move |_| {
                let (outcome, made) = (outcome.clone(), Arc::clone(&made));
                move || {
                    let outcome = outcome(made.fetch_add(1, Ordering::SeqCst));
                    Direct::new(async move { outcome })
                }
            }))
        }
    })
}

#[tokio::test]
async fn each_call_is_counted_by_outcome() {
    let outcome = |number| match number {
        3 => Err("the fourth".into()),
        4 => Err("the fifth".into()),
        even if even % 2 == 0 => Ok(Outcome::Refused),
        _ => Ok(Outcome::Success),
    };
    let schedule = Schedule::Closed {
        callers: 1,
        warm_up: Duration::ZERO,
        time: 200 * MS,
    };
    let figures = counted(schedule, outcome).run().await.unwrap();
    assert_eq!(figures.failed, 2, "{figures:?}");
    assert_eq!(figures.first_failure.as_deref(), Some("the fourth"));
    let LoadFigures {
        calls,
        successes,
        refused,
        failed,
        ..
    } = figures;
    assert_eq!(successes + refused + failed, calls);
    assert!(successes.abs_diff(refused) <= 2, "{figures:?}");
    assert!(figures.success_rate() < 1.0);
}

#[tokio::test]
async fn warm_up_calls_are_not_counted() {
    let made = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&made);
    let schedule = Schedule::Closed {
        callers: 2,
        warm_up: 30 * MS,
        time: 30 * MS,
    };
    let outcome = move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
        Ok(Outcome::Success)
    };
    let figures = counted(schedule, outcome).run().await.unwrap();
    assert!(figures.calls > 0);
    assert!(figures.calls < made.load(Ordering::SeqCst) as u64);
}

#[tokio::test]
async fn blocking_calls_have_a_thread_for_each_caller() {
    let threads = Arc::new(Mutex::new(HashSet::new()));
    let seen = Arc::clone(&threads);
    let setup = move || Ok(Arc::clone(&seen));
    let load = Load::blocking(closed(3), setup, |seen| {
        seen.lock().unwrap().insert(thread::current().id());
        thread::sleep(MS);
        Ok(Outcome::Success)
    });
    assert_eq!(load.run().await.unwrap().failed, 0);
    assert_eq!(threads.lock().unwrap().len(), 3);
}

/// Coordinated omission: while the only caller waits for a slow answer, further calls fall due. If
/// a call's clock started when the call is made, only one call would look slow.
#[tokio::test]
async fn stall_delays_all_calls_due_during_it() {
    let schedule = Schedule::Open {
        per_second: 200.0,
        callers: 1,
        time: 500 * MS,
    };
    let load = Load::new(schedule, || async {
        let first = Arc::new(AtomicUsize::new(0));
        Ok(DirectService::new(move |_| {
            let first = Arc::clone(&first);
            move || {
                let stall = match first.fetch_add(1, Ordering::SeqCst) {
                    0 => 400 * MS,
                    _ => Duration::ZERO,
                };
                Direct::new(async move {
                    tokio::time::sleep(stall).await;
                    Ok(Outcome::Success)
                })
            }
        }))
    });
    let figures = load.run().await.unwrap();
    assert_eq!(figures.calls, 100, "every due call is made");
    assert_eq!(figures.allowed_per_second, Some(200.0));
    let intended = figures.from_intended.unwrap();
    assert!(intended.p50_ns > 10 * figures.service.p50_ns, "{figures:?}");
    assert_eq!(figures.latency(), &intended);
}

#[tokio::test]
async fn calls_without_free_caller_count_as_failed() {
    let schedule = Schedule::Open {
        per_second: 1_000.0,
        callers: 1,
        time: 20 * MS,
    };
    let load = Load::new(schedule, || async {
        Ok(DirectService::new(|_| {
            || {
                Direct::new(async {
                    tokio::time::sleep(100 * MS).await;
                    Ok(Outcome::Success)
                })
            }
        }))
    });
    let figures = load.run().await.unwrap();
    assert_eq!((figures.calls, figures.successes), (20, 1));
    assert_eq!(figures.failed, 19);
}

#[tokio::test]
async fn each_user_of_ramp_calls_and_pauses() {
    let stage = |users| Stage {
        takes: 100 * MS,
        users,
    };
    let ramp = Ramp::new([stage(10), stage(10), stage(0)]);
    let users = Arc::new(AtomicUsize::new(0));
    let came = Arc::clone(&users);
    let load = Load::new(Schedule::Users(ramp.clone()), move || {
        let came = Arc::clone(&came);
        async move {
            Ok(DirectService::new(move |_| {
                let (came, mut first) = (Arc::clone(&came), true);
                move || {
                    came.fetch_add(usize::from(first), Ordering::SeqCst);
                    first = false;
                    Direct::new(async { Ok(Outcome::Success) }).pause(10 * MS)
                }
            }))
        }
    });
    let figures = load.run().await.unwrap();
    assert_eq!(users.load(Ordering::SeqCst), 10, "each user calls");
    // The users' total time divided by the pause, plus one call per user, because each begins with
    // a call.
    let most = ramp.user_time().as_millis() as u64 / 10 + 10;
    assert!(figures.calls <= most, "{figures:?}");
    assert!(figures.allowed_per_second.is_some() && figures.from_intended.is_none());
}

/// A server with a different answer for each path. It counts its connections.
async fn server(connections: Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            connections.fetch_add(1, Ordering::SeqCst);
            let service = service_fn(|request: Request<Incoming>| async move {
                let response = match request.uri().path() {
                    "/busy" => Response::builder().status(503),
                    "/close" => Response::builder().header("connection", "close"),
                    _ => Response::builder(),
                };
                let body = Full::new(Bytes::from_static(b"an answer"));
                Ok::<_, Infallible>(response.body(body).unwrap())
            });
            let serving = hyper::server::conn::http1::Builder::new();
            tokio::spawn(serving.serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

async fn over_http(callers: usize, path: &'static str) -> (LoadFigures, usize) {
    let connections = Arc::new(AtomicUsize::new(0));
    let address = server(Arc::clone(&connections)).await;
    let load = Load::new(closed(callers), move || async move {
        let exchanges = move |_| -> Exchanges {
            Box::new(move || {
                Exchange::post(path, "a request").judge(|answer| match &*answer.body {
                    b"an answer" => Ok(Outcome::Success),
                    other => Err(format!("{other:?}").into()),
                })
            })
        };
        Ok(HttpService::new(address, exchanges, ()))
    });
    let figures = load.run().await.unwrap();
    (figures, connections.load(Ordering::SeqCst))
}

#[tokio::test]
async fn caller_keeps_its_connection() {
    let (figures, connections) = over_http(3, "/").await;
    assert!(figures.calls > 3, "{figures:?}");
    assert_eq!(figures.successes, figures.calls, "{figures:?}");
    assert_eq!(connections, 3);
}

#[tokio::test]
async fn status_other_than_200_counts_as_failed() {
    let (figures, _) = over_http(1, "/busy").await;
    assert_eq!(figures.failed, figures.calls);
    let failure = figures.first_failure.unwrap();
    assert_eq!(failure, "/busy answered 503 Service Unavailable: an answer");
}

#[tokio::test]
async fn connection_closed_by_server_is_reopened() {
    let (figures, connections) = over_http(1, "/close").await;
    assert!(figures.successes > 1, "{figures:?}");
    assert!(connections > 1);
}

const PAGE: Page = Page {
    slug: "toy",
    targets: &["alpha"],
    text: "\
# Loads

{{loads loads: Store}}

{{goals}}",
    published: "{}",
    parts: &[],
};

/// A load whose calls fail every second time, and the library's load without failures.
fn declare(target: &mut Target) -> Result<(), BoxError> {
    let row = || {
        let row = Row::new("Ask", "none").concurrency(2);
        row.one_op("a question").fills("loads")
    };
    let outcome = |number| match number % 2 {
        0 => Ok(Outcome::Success),
        _ => Err("no answer".into()),
    };
    let library = row().variant(LIBRARY);
    let goals = row()
        .goal(Goal::no_failed_call())
        .goal(Goal::calls_per_second(1.0))
        .goal(Goal::share_of_allowed(0.5))
        .goal(Goal::share_of_row(&library, 1e-6))
        .goal(Goal::at_most_times_row(&library, 1e-6))
        .goal(Goal::reads_per_call(1.0));
    target.load(goals, counted(closed(2), outcome));
    target.load(library, counted(closed(2), |_| Ok(Outcome::Success)));
    Ok(())
}

#[test]
fn page_shows_load_next_to_library_and_its_failures() {
    let folders = Folders::new();
    let mut settings = folders.settings(FIRST);
    settings.pages = vec![PAGE];
    let saved = measure("alpha", settings, declare).unwrap();
    assert!(saved.partial.is_none() && saved.rows.len() == 2);
    let page = folders.page().unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let heading = "| Operation | Store | Callers | Iterations | Requests/s | p50 | p99 | Success | \
                   Failed | Library calls/s | Library p50 | Library p99 |";
    assert!(lines.contains(&heading), "{page}");
    let of_load = |line: &&&str| line.starts_with("| Ask | none | 2 |");
    assert_eq!(lines.iter().filter(of_load).count(), 1, "{page}");
    assert!(page.contains("- **Ask/none/C2/E1**: no answer"), "{page}");
    let goal = |bound: &str| {
        let mut rows = lines.iter().filter(|line| line.starts_with('|'));
        let line = rows.find(|line| line.contains(bound));
        *line.unwrap_or_else(|| panic!("{bound} is not in {page}"))
    };
    assert!(goal("at most 0 failed calls").ends_with("| no |"));
    let missed = "- Missed: Ask/none/C2/E1: 2 of 4; goal at most 0 failed calls";
    assert!(lines.contains(&missed), "{page}");
    assert!(goal("at least 1 calls/s").ends_with("| yes |"));
    // A closed schedule has no allowed rate.
    assert!(goal("at least 0.5 of").ends_with("| not known |"));
    let library = format!("Ask/none/C2/E1/{LIBRARY}");
    assert!(goal(&format!("at least 0.000001 of the rate of {library}")).ends_with("| yes |"));
    assert!(goal(&format!("p50 at most 0.000001 × that of {library}")).ends_with("| no |"));
    // The service does not count its reads.
    assert!(goal("at most 1 reads a call").ends_with("| not known |"));
}

const SUSTAINED: Page = Page {
    text: "\
{{seed toy: Operation | Events/s = Sustained events/s | p99.9 = Sustained p99.9 (µs) | Worst call (ms) | Share of bare rows = Share}}",
    ..PAGE
};

/// One call of the loop writes as many events as a hundred calls of the row.
#[test]
fn page_shows_share_of_another_row_in_events() {
    let folders = Folders::new();
    let mut settings = folders.settings(FIRST);
    settings.pages = vec![SUSTAINED];
    let mut saved = measure("alpha", settings, |target| {
        let bare = Row::new("Rows", "none").events(100).fills("toy");
        let row = Row::new("Append", "none").fills("toy");
        let row = row.goal(Goal::share_of_row(&bare, 0.5));
        let load = || counted(closed(1), |_| Ok(Outcome::Success));
        target.load(bare, load());
        target.load(row, load());
        Ok(())
    })
    .unwrap();
    for (row, calls) in saved.rows.iter_mut().zip([4, 300]) {
        let mut load = row.load().unwrap().clone();
        (load.calls, load.elapsed_s) = (calls, 2.0);
        (load.service.p999_ns, load.service.max_ns) = (7_000, 3_000_000);
        row.measured = Measured::Load(Box::new(load));
    }
    let page = render(&SUSTAINED, &[saved]).unwrap().markdown;
    assert!(page.contains("| Rows | 200 | 7.00 | 3.00 |  |"), "{page}");
    assert!(
        page.contains("| Append | 150 | 7.00 | 3.00 | 0.750 |"),
        "{page}"
    );
}

/// A machine that slows down for a while slows down both.
#[test]
fn loads_that_are_compared_take_turns() {
    let folders = Folders::new();
    let (made, set_up) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(AtomicUsize::new(0)),
    );
    let sides = ["one", "other"];
    let declare = |target: &mut Target| {
        let loads = sides.map(|side| {
            let (made, set_up) = (Arc::clone(&made), Arc::clone(&set_up));
            let load = Load::new(closed(1), move || {
                set_up.fetch_add(1, Ordering::SeqCst);
                let made = Arc::clone(&made);
                async move {
                    Ok(DirectService::new(move |_| {
                        let made = Arc::clone(&made);
                        move || {
                            made.lock().unwrap().push(side);
                            Direct::new(async { Ok(Outcome::Success) })
                        }
                    }))
                }
            });
            (Row::new("Ask", side), load)
        });
        target.take_turns(loads.into());
        Ok(())
    };
    let mut settings = folders.settings(FIRST);
    settings.profile = bench::Profile::quick();
    settings.pages = Vec::new();
    let saved = measure("alpha", settings, declare).unwrap();
    assert_eq!(set_up.load(Ordering::SeqCst), 2);
    let mut turns = made.lock().unwrap().clone();
    for (row, side) in saved.rows.iter().zip(sides) {
        let of_all_turns = turns.iter().filter(|made| **made == side).count() as u64;
        let figures = row.load().unwrap();
        assert_eq!((figures.calls, figures.failed), (of_all_turns, 0), "{side}");
    }
    turns.dedup();
    assert!(turns.len() > 5, "{turns:?}");
}

#[test]
fn goal_against_absent_row_is_refused() {
    let folders = Folders::new();
    let absent = Row::new("Ask", "none").variant("absent");
    let refused = measure("alpha", folders.settings(FIRST), |target| {
        let row = Row::new("Ask", "none").goal(Goal::share_of_row(&absent, 0.8));
        target.load(row, counted(closed(2), |_| Ok(Outcome::Success)));
        Ok(())
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "row Ask/none/C1/E1 has a goal against Ask/none/C1/E1/absent, which is not a row of its target"
    );
}

#[test]
fn smoke_run_ends_at_failed_call() {
    let folders = Folders::new();
    let mut settings = folders.settings(FIRST);
    settings.pages = vec![PAGE];
    settings.profile = bench::Profile::smoke();
    let error = measure("alpha", settings, declare).unwrap_err();
    assert!(
        matches!(&error, Error::Row { id, source }
            if id == "Ask/none/C2/E1" && source.to_string() == "no answer"),
        "{error}"
    );
}

#[test]
fn filter_applies_to_loads() {
    let folders = Folders::new();
    let mut settings = folders.settings(FIRST);
    settings.pages = vec![PAGE];
    settings.criterion = settings.criterion.with_filter(LIBRARY);
    let saved = measure("alpha", settings, declare).unwrap();
    let ids: Vec<&str> = saved.rows.iter().map(|row| &*row.id).collect();
    assert_eq!(ids, ["Ask/none/C2/E1/library"]);
    assert!(saved.partial.is_some());
    assert_eq!(folders.page(), None);
}
