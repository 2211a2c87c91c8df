//! Closing a pool.

use std::time::Duration;

use sqlx::Error;
use tokio::time::sleep;

use super::{borrow, database, next_process, pool};

#[tokio::test]
async fn close_waits_for_lent_connections() {
    let database = database().await;
    let observer = pool(&database, 1);
    let pool = pool(&database, 2);
    next_process(&pool).await;
    let lent = borrow(&pool).await;

    let closing = tokio::spawn({
        let pool = pool.clone();
        async move { pool.close().await }
    });
    while !pool.is_closed() {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(matches!(pool.acquire().await, Err(Error::PoolClosed)));
    sleep(Duration::from_millis(20)).await;
    assert!(!closing.is_finished());

    lent.give_back();
    closing.await.expect("the task does not panic");
    assert_eq!(pool.size(), 0);
    pool.close().await;

    let mut connection = borrow(&observer).await;
    let others = "SELECT count(*) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while sqlx::query_scalar::<_, i64>(others)
        .fetch_one(&mut *connection)
        .await
        .expect("a count")
        > 0
    {
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn borrower_waiting_at_close_gets_pool_closed() {
    let database = database().await;
    let pool = pool(&database, 1);
    let lent = borrow(&pool).await;
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { pool.acquire().await.err() }
    });
    sleep(Duration::from_millis(20)).await;
    let (waited, (), ()) = tokio::join!(waiting, pool.close(), async { lent.give_back() });
    let waited = waited.expect("the task does not panic");
    assert!(matches!(waited, Some(Error::PoolClosed)));
}
