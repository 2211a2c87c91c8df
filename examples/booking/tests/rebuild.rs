//! The read model is rebuilt as version 2 while the service takes bookings. Two processes build it, and
//! one of them is killed with SIGKILL again and again. Then readers see version 2, and its rows are those
//! of a single pass.

use std::process::Stdio;
use std::time::{Duration, Instant};

use booking::booking::{BOOKED, Booking, book};
use booking::payment::PAID;
use booking::rooms::{Rooms, Tables};
use dcb_core::postgres::{Config, PostgresReadModel, Projections};
use dcb_core::{AnyStore, Event, EventStore as _, ProjectionRunner, ProjectionState, Query};
use local_postgres::{LocalPostgres, Options, Source};
use sqlx::{AssertSqlSafe, PgPool};
use tokio::process::{Child, Command};
use tokio::time::sleep;
use uuid::Uuid;

const URL: &str = "BOOKING_REBUILD_URL";
const KILLS: usize = 4;

/// A process that builds version 2, until it is killed.
#[tokio::test]
#[ignore = "runs in the processes that the test starts"]
async fn member() {
    let Ok(url) = std::env::var(URL) else {
        return;
    };
    let events = AnyStore::open(&url).await.unwrap();
    let rooms = Rooms::open(&url, 2).await.unwrap();
    rooms.follow(events).await.unwrap();
}

fn start(url: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["member", "--exact", "--ignored"])
        .env(URL, url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn read_model_is_rebuilt_live_by_processes_that_are_killed() {
    let server = postgres().await;
    let url = server.url().to_owned();
    let events = AnyStore::open(&url).await.unwrap();
    let rooms = Rooms::open(&url, 1).await.unwrap();
    let following = tokio::spawn(rooms.clone().follow(events.clone()));
    take_bookings(&events, 0).await;

    // Two programs at once can't create a table.
    Rooms::open(&url, 2).await.unwrap();
    let mut members = [start(&url), start(&url)];
    for kill in 1..=KILLS {
        take_bookings(&events, kill).await;
        sleep(Duration::from_millis(700)).await;
        let killed = &mut members[kill % 2];
        killed.kill().await.unwrap();
        *killed = start(&url);
    }
    let mut projections = Projections::new(&Config::new(&url)).unwrap();
    let begun = Instant::now();
    let is_shown = |state| state == ProjectionState::Current;
    while !projections
        .list()
        .await
        .unwrap()
        .iter()
        .any(|of| of.version == 2 && is_shown(of.state))
    {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "version 2 takes over"
        );
        sleep(Duration::from_millis(50)).await;
    }
    assert!(
        !following.is_finished(),
        "the old program goes on to serve readers"
    );
    take_bookings(&events, KILLS + 1).await;

    let pool = PgPool::connect(&url).await.unwrap();
    Rooms::open(&url, 3).await.unwrap();
    let changes = Query::builder()
        .event_types([BOOKED, PAID])
        .build()
        .unwrap();
    let single = PostgresReadModel::new(&Config::new(&url), "single", Tables { version: 3 });
    let single = single.unwrap();
    ProjectionRunner::new(events.clone(), changes, single)
        .catch_up()
        .await
        .unwrap();
    let expected = hash(&pool, "stay_3").await;
    while hash(&pool, "stay").await != expected {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the rows are those of a single pass"
        );
        sleep(Duration::from_millis(50)).await;
    }
    following.abort();
    events.close().await;
}

/// Books rooms, and pays for each second booking.
async fn take_bookings(events: &AnyStore, round: usize) {
    for number in 0..100 {
        let id = Uuid::now_v7();
        let booking = Booking {
            id,
            room: number % 20,
            night: format!("{} of round {round}", number / 20),
            guest: "Ada".to_owned(),
        };
        assert!(book(events, &booking).await.is_ok());
        if number % 2 == 0 {
            let paid = Event::builder(PAID).json(&id).tag_pair("booking", id);
            events.append(paid.build().unwrap()).await.unwrap();
        }
    }
}

async fn hash(pool: &PgPool, table: &str) -> String {
    let sql = format!("SELECT md5(string_agg(row::text, ' ' ORDER BY booking)) FROM {table} row");
    sqlx::query_scalar(AssertSqlSafe(sql))
        .fetch_one(pool)
        .await
        .unwrap()
}

/// A server that the test may kill.
async fn postgres() -> LocalPostgres {
    let start = |source| {
        LocalPostgres::start(Options {
            source: Some(source),
            ..Options::default()
        })
    };
    match start(Source::Installed).await {
        Ok(server) => server,
        Err(_) => start(Source::Download).await.expect("a PostgreSQL"),
    }
}
