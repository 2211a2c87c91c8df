//! Connections whose borrower dropped them before the answer was complete.

use std::time::Duration;

use futures_core::Stream;
use postgres_store::{Limits, Pool};
use tokio::time::{sleep, timeout};

use super::{borrow, database, next_process, options, pool, process};

/// Polls a stream for its first item.
async fn first<T>(mut stream: impl Stream<Item = T> + Unpin) -> Option<T> {
    std::future::poll_fn(|context| std::pin::Pin::new(&mut stream).poll_next(context)).await
}

#[tokio::test]
async fn half_read_answer_does_not_reach_next_borrower() {
    let database = database().await;
    let pool = pool(&database, 1);
    for _ in 0..20 {
        let mut connection = borrow(&pool).await;
        let process_of_first = process(&mut connection).await;
        let rows = sqlx::query("SELECT generate_series(1, 20000)").fetch(&mut *connection);
        first(rows).await.expect("a row").expect("no error");
        drop(connection);
        assert_eq!(next_process(&pool).await, process_of_first);
    }
}

#[tokio::test]
async fn connection_is_reused_after_abandoned_statement_ends() {
    let database = database().await;
    let pool = pool(&database, 1);
    let mut connection = borrow(&pool).await;
    let process_of_first = process(&mut connection).await;
    let sleeping = sqlx::query("SELECT pg_sleep(0.3)").execute(&mut *connection);
    assert!(timeout(Duration::from_millis(50), sleeping).await.is_err());
    drop(connection);
    assert_eq!(next_process(&pool).await, process_of_first);
}

#[tokio::test]
async fn connection_without_answer_is_cut_after_wait() {
    let database = database().await;
    let limits = Limits::new(1, Duration::from_millis(200));
    let pool = Pool::new(options(database.url()), limits);
    let mut connection = borrow(&pool).await;
    let sleeping = sqlx::query("SELECT pg_sleep(5)").execute(&mut *connection);
    assert!(timeout(Duration::from_millis(50), sleeping).await.is_err());
    drop(connection);
    assert!(
        timeout(Duration::from_millis(100), pool.acquire())
            .await
            .is_err()
    );
    let cut = async {
        while pool.size() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(4), cut)
        .await
        .expect("the connection is cut before its answer");
    next_process(&pool).await;
}

#[tokio::test]
async fn connection_is_reused_after_refused_statement() {
    let database = database().await;
    let pool = pool(&database, 1);
    let mut connection = borrow(&pool).await;
    let process_of_first = process(&mut connection).await;
    let refused = sqlx::query("SELECT 1 / 0").execute(&mut *connection).await;
    assert!(refused.is_err());
    drop(connection);
    assert_eq!(next_process(&pool).await, process_of_first);
}

#[tokio::test]
async fn discarded_connection_is_replaced() {
    let database = database().await;
    let pool = pool(&database, 1);
    let mut connection = borrow(&pool).await;
    let discarded = process(&mut connection).await;
    connection.discard();
    assert_eq!(pool.size(), 0);
    assert_ne!(next_process(&pool).await, discarded);
}

#[test]
fn lease_dropped_without_runtime_cuts_connection() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (_database, pool, lease) = runtime.block_on(async {
        let database = database().await;
        let pool = pool(&database, 1);
        let lease = borrow(&pool).await;
        (database, pool, lease)
    });
    runtime.shutdown_timeout(Duration::from_secs(10));
    drop(lease);
    assert_eq!(pool.size(), 0);
}

#[tokio::test]
async fn aborted_borrower_leaks_no_permit() {
    let database = database().await;
    let pool = pool(&database, 2);
    for delay in 0..60 {
        let borrower = tokio::spawn({
            let pool = pool.clone();
            async move {
                let mut connection = borrow(&pool).await;
                process(&mut connection).await;
                connection.give_back();
            }
        });
        sleep(Duration::from_micros(delay * 50)).await;
        borrower.abort();
    }
    let (first, second) = (borrow(&pool).await, borrow(&pool).await);
    assert_eq!(pool.size(), 2);
    first.give_back();
    second.give_back();
}
