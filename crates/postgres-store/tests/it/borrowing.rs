//! Which connection a borrower gets, and at what cost.

use std::pin::pin;
use std::time::Duration;

use conformance_suite::poll_once;
use postgres_store::{Limits, Pool};
use sqlx::Error;
use tokio::time::{sleep, timeout};

use super::proxy::Proxy;
use super::{TEST_TIMEOUT, borrow, database, next_process, options, pool, process};

#[tokio::test]
async fn last_returned_connection_is_lent_first() {
    let database = database().await;
    let pool = pool(&database, 3);
    let (mut first, mut second) = (borrow(&pool).await, borrow(&pool).await);
    let last = process(&mut first).await;
    process(&mut second).await;
    second.give_back();
    first.give_back();
    assert_eq!(next_process(&pool).await, last);
    assert_eq!(next_process(&pool).await, last);
    assert_eq!(pool.size(), 2);
}

#[tokio::test]
async fn has_resting_is_true_only_while_connection_is_idle() {
    let database = database().await;
    let pool = pool(&database, 2);
    assert!(!pool.has_resting(), "no connection is open yet");
    let (first, second) = (borrow(&pool).await, borrow(&pool).await);
    assert!(!pool.has_resting());
    first.give_back();
    assert!(pool.has_resting());
    let first = borrow(&pool).await;
    assert!(!pool.has_resting());
    second.give_back();
    drop(first);
    pool.close().await;
    assert!(!pool.has_resting());
}

#[tokio::test]
async fn give_back_takes_no_round_trip() {
    const STATEMENTS: usize = 10;
    let database = database().await;
    let proxy = Proxy::start(database.url()).await;
    let pool = Pool::new(options(&proxy.url), Limits::new(2, TEST_TIMEOUT));
    next_process(&pool).await;

    let before = proxy.messages();
    for _ in 0..STATEMENTS {
        next_process(&pool).await;
    }
    sleep(Duration::from_millis(100)).await;
    assert_eq!(proxy.messages() - before, STATEMENTS);

    // Without `give_back` the same statements are each followed by a ping.
    let before = proxy.messages();
    for _ in 0..STATEMENTS {
        process(&mut borrow(&pool).await).await;
    }
    while proxy.messages() - before < 2 * STATEMENTS {
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn spare_borrower_waits_only_for_the_spare_connection() {
    let database = database().await;
    let pool = pool(&database, 1);
    let spare = async || pool.acquire_spare().await.expect("a connection");
    let mut first = borrow(&pool).await;
    let first_process = process(&mut first).await;
    let mut second = spare().await;
    assert_ne!(process(&mut second).await, first_process);
    assert_eq!(pool.size(), 2);
    // Neither waits for the connection of the other kind.
    let mut third = pin!(pool.acquire_spare());
    assert!(poll_once(third.as_mut()).await.is_none());
    first.give_back();
    assert!(poll_once(third.as_mut()).await.is_none());
    second.give_back();
    let third = third.await.expect("a connection");
    let first = borrow(&pool).await;
    assert_eq!(pool.size(), 2);
    // Both come back before the pool is closed.
    let mut closing = pin!(pool.close());
    first.give_back();
    assert!(poll_once(closing.as_mut()).await.is_none());
    third.give_back();
    closing.await;
    assert!(matches!(pool.acquire_spare().await, Err(Error::PoolClosed)));
}

#[tokio::test]
async fn open_connections_stay_within_limit() {
    let database = database().await;
    let pool = pool(&database, 3);
    let callers = (0..50).map(|_| {
        let pool = pool.clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                let mut connection = borrow(&pool).await;
                process(&mut connection).await;
                assert!(pool.size() <= 3);
                connection.give_back();
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("no task panics");
    }
    assert!((1..=3).contains(&pool.size()));
}

#[tokio::test]
async fn borrower_waiting_beyond_limit_times_out() {
    let database = database().await;
    let limits = Limits::new(1, Duration::from_secs(1));
    let pool = Pool::new(options(database.url()), limits);
    let lent = borrow(&pool).await;
    assert!(matches!(pool.acquire().await, Err(Error::PoolTimedOut)));
    lent.give_back();
    borrow(&pool).await.give_back();
}

#[tokio::test]
async fn cancelled_borrower_passes_its_turn_to_next() {
    let database = database().await;
    let pool = pool(&database, 1);
    let lent = borrow(&pool).await;
    let gave_up = timeout(Duration::from_millis(20), pool.acquire()).await;
    assert!(gave_up.is_err());
    let next = tokio::spawn({
        let pool = pool.clone();
        async move { next_process(&pool).await }
    });
    lent.give_back();
    timeout(TEST_TIMEOUT, next)
        .await
        .expect("the next borrower gets its turn")
        .expect("the task does not panic");
}

#[tokio::test]
async fn idle_or_old_connections_are_closed() {
    let database = database().await;
    let limits = Limits {
        idle: Duration::from_millis(100),
        ..Limits::new(2, TEST_TIMEOUT)
    };
    let pool = Pool::new(options(database.url()), limits);
    let (first, second) = (borrow(&pool).await, borrow(&pool).await);
    first.give_back();
    second.give_back();
    sleep(limits.idle * 2).await;
    next_process(&pool).await;
    while pool.size() > 1 {
        sleep(Duration::from_millis(1)).await;
    }

    let limits = Limits {
        age: Duration::from_millis(100),
        ..Limits::new(2, TEST_TIMEOUT)
    };
    let pool = Pool::new(options(database.url()), limits);
    let young = next_process(&pool).await;
    sleep(limits.age * 2).await;
    assert_ne!(next_process(&pool).await, young);
    assert_eq!(pool.size(), 1);
}
