//! Our own stores are raced and not accused.

use crate::events::{self, Async};
use conformance_suite::effort;
use local_postgres::{Durability, LocalPostgres, Options, shared_with};
use peer_protocol::{Call, History, Outcome, Promise, Race, Step, race};
use referee::check;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// How long a server lives between two kills.
const BEFORE_KILL: Duration = Duration::from_millis(150);

/// The seeds of the races of a test.
fn seeds() -> RangeInclusive<u64> {
    1..=effort(4) as u64
}

/// Races the store once, and returns its history.
async fn raced(store: &Arc<Async>, seed: u64, calls: usize) -> History {
    let small = Race {
        seed,
        callers: 12,
        followers: 2,
        calls,
        repeats: true,
        drops: true,
    };
    let history = race(store, &small).await.unwrap();
    assert!(!history.log.is_empty(), "seed {seed}");
    assert_eq!(check(&history, &Promise::ALL), [], "seed {seed}");
    history
}

/// Whether an append had an unknown result.
fn is_unknown(step: &Step) -> bool {
    matches!(
        step.call,
        Call::Append {
            outcome: Outcome::Unknown(_),
            ..
        }
    )
}

async fn is_right(url: &str) {
    let store = Arc::new(events::open(url).await.unwrap());
    for seed in seeds() {
        raced(&store, seed, 60).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory() {
    is_right("memory:").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.sqlite");
    is_right(&format!("sqlite:{}", file.display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    let server = shared_with(Durability::Relaxed).await.unwrap();
    let database = server.create_database("referee").await.unwrap();
    is_right(database.url()).await;
}

/// The server and all its processes are killed and restarted while callers append.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_that_is_killed() {
    let server = LocalPostgres::start(Options::default()).await.unwrap();
    let server = Arc::new(server);
    let database = server.create_database("referee").await.unwrap();
    let store = Arc::new(events::open(database.url()).await.unwrap());
    for seed in seeds() {
        let is_over = Arc::new(AtomicBool::new(false));
        let killed = tokio::spawn(kill_until(Arc::clone(&server), Arc::clone(&is_over)));
        let history = raced(&store, seed, 120).await;
        is_over.store(true, Ordering::SeqCst);
        assert!(killed.await.unwrap() > 0, "seed {seed}");
        assert!(history.steps.iter().any(is_unknown), "seed {seed}");
    }
}

/// Kills and restarts the server until the race is over, and returns how often.
async fn kill_until(server: Arc<LocalPostgres>, is_over: Arc<AtomicBool>) -> u32 {
    let mut kills = 0;
    loop {
        sleep(BEFORE_KILL).await;
        if is_over.load(Ordering::SeqCst) {
            return kills;
        }
        let killed = Arc::clone(&server);
        tokio::task::spawn_blocking(move || killed.kill_hard().unwrap())
            .await
            .unwrap();
        server.restart().await.unwrap();
        kills += 1;
    }
}
