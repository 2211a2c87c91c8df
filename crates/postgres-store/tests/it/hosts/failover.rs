use std::time::Duration;

use local_postgres::LocalPostgres;
use postgres_store::{Failure, Limits, Pool, Server, WriterConnection, failure};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use tokio::time::{sleep, timeout};

use super::{host, pair, url};

const LIMIT: Duration = Duration::from_secs(20);
/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A session at a server in any role.
async fn session(server: &LocalPostgres) -> PgConnection {
    PgConnection::connect(server.url())
        .await
        .expect("a session")
}

async fn run(server: &LocalPostgres, sql: &str) {
    let mut connection = session(server).await;
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    sql.execute(&mut connection).await.expect("a statement");
}

async fn has_table(server: &LocalPostgres) -> bool {
    let mut connection = session(server).await;
    let asked = sqlx::raw_sql("SELECT to_regclass('t') IS NOT NULL").fetch_one(&mut connection);
    asked.await.expect("an answer").get(0)
}

async fn insert(writer: &mut WriterConnection, number: i32) -> Result<u64, sqlx::Error> {
    writer.connect().await?;
    let inserted = writer
        .insert(sqlx::query("INSERT INTO t VALUES ($1)").bind(number))
        .await;
    if let Err(failed) = &inserted
        && failure(failed) == Failure::Lost
    {
        writer.mark_lost();
    }
    inserted
}

/// Inserts until an insert succeeds.
async fn insert_again(writer: &mut WriterConnection, number: i32) {
    let inserted = async {
        while insert(writer, number).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, inserted)
        .await
        .expect("an insert succeeds");
}

#[tokio::test(flavor = "multi_thread")]
async fn writer_moves_to_a_promoted_standby() {
    let Some((primary, standby)) = pair().await else {
        return;
    };
    // From now on, an acknowledged write is on the standby.
    run(&primary, "ALTER SYSTEM SET synchronous_standby_names = '*'").await;
    run(&primary, "SELECT pg_reload_conf()").await;
    let url = url(&[host(primary.url()), host(standby.url())], "postgres");
    let server = Server::new(&url, "test", false).expect("a URL");
    let pool = Pool::new(server.reader(LIMIT).hosts, Limits::new(2, LIMIT));
    let mut writer = WriterConnection::new(server.writer(LIMIT));
    writer.connect().await.expect("the primary");
    let table = writer.insert(sqlx::query("CREATE TABLE t (n int)")).await;
    table.expect("a table");
    pool.acquire().await.expect("the primary").give_back();
    for number in 0..20 {
        insert(&mut writer, number).await.expect("an insert");
    }
    primary.kill_hard().expect("the server is ours");
    let lost = insert(&mut writer, 20).await.expect_err("no primary");
    assert_eq!(failure(&lost), Failure::Lost, "{lost}");
    // A standby alone takes no writes.
    let standing = writer.connect().await.expect_err("no primary");
    assert!(standing.to_string().contains("is a standby"), "{standing}");
    run(&standby, "SELECT pg_promote()").await;
    insert_again(&mut writer, 20).await;
    pool.suspect();
    let mut reader = pool.acquire().await.expect("the new primary");
    let counted = sqlx::query("SELECT count(DISTINCT n) FROM t WHERE n < 21");
    let counted = counted.fetch_one(&mut *reader).await.expect("an answer");
    assert_eq!(counted.get::<i64, _>(0), 21);
}

/// An old primary that became a standby while the session stayed open refuses the write, and the next
/// one finds the new primary.
#[tokio::test(flavor = "multi_thread")]
async fn refused_write_makes_the_writer_look_again() {
    let Some((primary, standby)) = pair().await else {
        return;
    };
    let url = url(&[host(primary.url()), host(standby.url())], "postgres");
    let server = Server::new(&url, "test", false).expect("a URL");
    let mut writer = WriterConnection::new(server.writer(LIMIT));
    writer.connect().await.expect("the primary");
    let table = writer.insert(sqlx::query("CREATE TABLE t (n int)")).await;
    table.expect("a table");
    while !has_table(&standby).await {
        sleep(Duration::from_millis(10)).await;
    }
    run(&standby, "SELECT pg_promote()").await;
    let read_only = AssertSqlSafe("SET default_transaction_read_only = on".to_owned());
    writer
        .run(sqlx::SqlSafeStr::into_sql_str(read_only))
        .await
        .expect("a setting");
    run(
        &primary,
        "ALTER SYSTEM SET default_transaction_read_only = on",
    )
    .await;
    run(&primary, "SELECT pg_reload_conf()").await;
    let refused = insert(&mut writer, 1).await.expect_err("read-only");
    assert_eq!(failure(&refused), Failure::ReadOnly, "{refused}");
    let moved = timeout(TIMEOUT, async {
        // The old primary takes a moment to reload its settings.
        loop {
            insert_again(&mut writer, 2).await;
            let rows = writer.ask(sqlx::query("SELECT inet_server_port()")).await;
            let port: i32 = rows.expect("an answer")[0].get(0);
            if host(standby.url()).ends_with(&format!(":{port}")) {
                return;
            }
            writer.close().await;
        }
    });
    moved.await.expect("the writer moves");
}
