//! Errors that belong to a session: a server that is read-only for a while, lost prepared statements,
//! a failed transaction. Each costs one write at most.

use local_postgres::{Database, PgBouncer, SessionProxy};
use message_store::postgres::{Config, PostgresStore};
use message_store::{
    Error, ExpectedVersion, Fault, GlobalPosition, MessageStore as _, Position, Written,
};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, fresh_database, message, server, stream_name, whole_category, whole_stream, write,
};

/// Sets the default for new sessions and ends the others, as a hoster does when a disk is nearly
/// full.
async fn make_read_only(sql: &mut Sql, database: &Database) {
    let name = database.name();
    sql.run(&format!(
        "ALTER DATABASE \"{name}\" SET default_transaction_read_only = on"
    ))
    .await;
    sql.run(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
          WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    .await;
}

async fn make_writable(sql: &mut Sql, database: &Database) {
    let name = database.name();
    sql.run(&format!(
        "ALTER DATABASE \"{name}\" RESET default_transaction_read_only"
    ))
    .await;
}

async fn try_write(store: &PostgresStore, number: u64) -> Result<Written, Error> {
    let stream = stream_name("account-1");
    let any = ExpectedVersion::Any;
    store.write_message(&stream, message(number), any).await
}

fn assert_read_only<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let Err(refused @ Error::Fault(Fault::ReadOnly(_))) = answer else {
        panic!("answered {answer:?}");
    };
    assert!(refused.is_transient());
    assert!(refused.to_string().contains("read-only"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_succeed_after_server_was_read_only() {
    let database = fresh_database().await;
    let store = connect(Config::new(database.url())).await;
    let mut sql = Sql::connect(database.url()).await;
    write(&store, "account-1", 1).await;
    let checkpoint = GlobalPosition::new(1);
    make_read_only(&mut sql, &database).await;
    for _ in 0..3 {
        assert_read_only(try_write(&store, 2).await);
        assert_eq!(whole_stream(&store, "account-1").await.len(), 1);
        // Not through the writer's session.
        let stream = stream_name("account-1");
        assert_read_only(store.truncate_stream(&stream, Position::new(1)).await);
        assert_read_only(store.save_checkpoint("consumer", checkpoint).await);
    }
    make_writable(&mut sql, &database).await;
    let written = try_write(&store, 3).await.expect("the next try writes");
    assert_eq!(written.position, Position::new(1));
    for number in 0..10 {
        let name = format!("consumer{number}");
        let saved = store.save_checkpoint(&name, checkpoint).await;
        saved.expect("no session is read-only any more");
    }
    store.close().await;
}

/// The pooler keeps the sessions of the time when the server was read-only.
#[tokio::test(flavor = "multi_thread")]
async fn writes_behind_pooler_succeed_after_server_was_read_only() {
    let bouncer = PgBouncer::start(server().await.url()).await;
    let Some(bouncer) = unmet::need("pgbouncer", bouncer) else {
        return;
    };
    let database = fresh_database().await;
    let config = Config::new(bouncer.url(database.name())).transaction_pooling();
    let store = connect(config).await;
    let mut sql = Sql::connect(database.url()).await;
    write(&store, "account-1", 1).await;
    make_read_only(&mut sql, &database).await;
    // The pooler finds out one by one that its sessions were ended.
    while let answer @ (Ok(_) | Err(Error::Fault(Fault::Unreachable(_)))) =
        try_write(&store, 2).await
    {
        assert!(answer.is_err(), "{answer:?}");
    }
    assert_read_only(try_write(&store, 2).await);
    make_writable(&mut sql, &database).await;
    let mut refusals = 0;
    while let Err(error) = try_write(&store, 3).await {
        assert!(error.is_transient(), "{error}");
        refusals += 1;
        // Each refusal costs the pooler one session, and it has a few.
        assert!(refusals < 20, "{error}");
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spoiled_session_costs_one_write_and_no_read() {
    for spoil in [
        "DEALLOCATE ALL",
        "BEGIN; SELECT 1 / 0",
        "SET default_transaction_read_only = on",
    ] {
        let database = fresh_database().await;
        let proxy = SessionProxy::start(database.url()).await;
        let store = connect(Config::new(proxy.url())).await;
        for number in 0..3 {
            write(&store, "account-1", number).await;
            read(&store).await;
        }
        for round in 0..3 {
            assert!(proxy.run(spoil).await > 1, "a writer and readers");
            if let Err(error) = try_write(&store, round).await {
                assert!(error.is_transient(), "{spoil}: {error:?}");
                let next = try_write(&store, round).await;
                next.unwrap_or_else(|error| panic!("{spoil}: {error:?}"));
            }
            let stored = 4 + round;
            assert_eq!(read(&store).await, [stored; 6], "{spoil}");
        }
        store.close().await;
    }
}

/// Several reads of different kinds at the same time.
async fn read(store: &PostgresStore) -> Vec<u64> {
    let reads: Vec<_> = (0..6)
        .map(|number| tokio::spawn(count(store.clone(), number)))
        .collect();
    let mut counts = Vec::new();
    for read in reads {
        counts.push(read.await.expect("no read panics"));
    }
    counts
}

async fn count(store: PostgresStore, number: usize) -> u64 {
    match number % 3 {
        0 => whole_stream(&store, "account-1").await.len() as u64,
        1 => whole_category(&store, "account").await.len() as u64,
        _ => {
            let version = store.stream_version(&stream_name("account-1")).await;
            version.expect("a read").map_or(0, |last| last.get() + 1)
        }
    }
}

/// Another client of the session has taken the names of the next prepared statements.
#[tokio::test(flavor = "multi_thread")]
async fn taken_statement_name_costs_no_read() {
    let database = fresh_database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let store = connect(Config::new(proxy.url())).await;
    write(&store, "account-1", 1).await;
    read(&store).await;
    for number in 0..30 {
        // Fails for the names that the store has taken.
        proxy
            .run(&format!("PREPARE sqlx_s_{number} AS SELECT 1"))
            .await;
    }
    // Needs a statement that no session has prepared.
    let last = store
        .get_last_stream_message(&stream_name("account-1"), None)
        .await
        .expect("a read");
    assert_eq!(
        last.map(|message| message.position()),
        Some(Position::START)
    );
    store.close().await;
}
