//! Servers that end sessions, or are not there.

use std::time::Duration;

use postgres_pool::{Limits, Pool};
use sqlx::Error;
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::{borrow, database, next_process, options, pool, process};

#[tokio::test]
async fn what_may_be_dead_is_checked_before_it_is_lent() {
    let database = database().await;
    let pool = pool(&database, 4);
    let mut lent = Vec::new();
    for _ in 0..4 {
        lent.push(borrow(&pool).await);
    }
    let mut ended = Vec::new();
    for connection in &mut lent[1..] {
        ended.push(process(connection).await);
    }
    let survivor = process(&mut lent[0]).await;
    sqlx::query("SELECT pg_terminate_backend(pid, 10000) FROM unnest($1::int[]) pid")
        .bind(&ended)
        .execute(&mut *lent[0])
        .await
        .expect("they are ended");
    for connection in lent {
        connection.give_back();
    }

    pool.suspect();
    assert_eq!(next_process(&pool).await, survivor);
    assert_eq!(pool.size(), 1);
}

#[tokio::test]
async fn what_was_dropped_dead_is_not_lent_again() {
    let database = database().await;
    let pool = pool(&database, 1);
    let mut connection = borrow(&pool).await;
    let ended = process(&mut connection).await;
    let end = sqlx::query("SELECT pg_terminate_backend(pg_backend_pid())");
    assert!(end.execute(&mut *connection).await.is_err());
    drop(connection);
    assert_ne!(next_process(&pool).await, ended);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_waited_for() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = nobody.local_addr().expect("an address").port();
    drop(nobody);
    let url = format!("postgres://nobody@127.0.0.1:{port}/none");
    let pool = Pool::new(options(&url), Limits::new(1, Duration::from_millis(100)));
    assert!(matches!(pool.acquire().await, Err(Error::PoolTimedOut)));
    assert_eq!(pool.size(), 0);
}

#[tokio::test]
async fn a_server_that_wants_nobody_is_believed() {
    let database = database().await;
    let missing = options(database.url()).database("there_is_none");
    let pool = Pool::new(missing, Limits::new(1, super::PATIENCE));
    assert!(matches!(pool.acquire().await, Err(Error::Database(_))));
}

/// It has room for fewer connections than the pool may open.
#[tokio::test]
async fn a_full_server_is_not_waited_for_where_a_connection_comes_back() {
    let database = database().await;
    let observer = pool(&database, 1);
    let mut connection = borrow(&observer).await;
    let name: String = sqlx::query_scalar("SELECT current_database()")
        .fetch_one(&mut *connection)
        .await
        .expect("a name");
    let role = format!("{name}_guest");
    for statement in [
        format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'guest' CONNECTION LIMIT 1"),
        format!("GRANT CONNECT ON DATABASE \"{name}\" TO \"{role}\""),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .execute(&mut *connection)
            .await
            .expect("a role");
    }
    let guest = options(database.url()).username(&role).password("guest");
    let pool = Pool::new(guest, Limits::new(4, Duration::from_secs(20)));
    let mut only = borrow(&pool).await;
    let process_of_only = process(&mut only).await;
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { next_process(&pool).await }
    });
    // It finds the server full.
    sleep(Duration::from_millis(300)).await;
    only.give_back();
    assert_eq!(waiting.await.expect("it gets one"), process_of_only);
    assert_eq!(pool.size(), 1);
    pool.close().await;
    let drop = format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\"");
    sqlx::raw_sql(sqlx::AssertSqlSafe(drop))
        .execute(&mut *connection)
        .await
        .expect("no role");
}
