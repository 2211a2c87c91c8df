//! Errors that belong to a session: a server that is read-only for a while, lost and outdated
//! prepared statements, a failed transaction. Each costs one call at most.

use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Append, Command, Error, EventStore as _, Fault, Query, ReadOptions};
use local_postgres::{Database, PgBouncer, SessionProxy};
use sqlx::{Connection as _, PgConnection};

use crate::support::events::{head, tag, tagged, unless, whole_log};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, server};

/// More appends than a writer needs before it appends by an INSERT alone.
const UNCONTENDED_APPENDS: u64 = 20;

async fn database() -> Database {
    let database = server().await.create_database("sessions").await;
    database.expect("a database")
}

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

fn assert_read_only<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let Err(refused @ Error::Fault(Fault::ReadOnly(_))) = answer else {
        panic!("answered {answer:?}");
    };
    assert!(refused.is_transient());
    assert!(refused.to_string().contains("read-only"), "{refused}");
}

/// Appends by each statement, and returns the number of events.
async fn fill(store: &PostgresStore) -> u64 {
    for _ in 0..UNCONTENDED_APPENDS {
        store.append(tagged("a")).await.expect("an append");
    }
    UNCONTENDED_APPENDS
}

async fn check_read_only_for_a_while(log: &Config, database: &Database) {
    let store = connect(log).await;
    let mut sql = Sql::connect(database.url()).await;
    let stored = fill(&store).await;
    make_read_only(&mut sql, database).await;
    for _ in 0..3 {
        assert_read_only(store.append(tagged("a")).await);
        assert_read_only(store.append_if(tagged("b"), unless("b")).await);
        assert_eq!(head(&store).await, stored);
        assert_eq!(whole_log(&store).await.len() as u64, stored);
    }
    assert_read_only(store.clear().await);
    make_writable(&mut sql, database).await;
    let next = store
        .append(tagged("a"))
        .await
        .expect("the next try writes");
    assert_eq!(next.first().get(), stored + 1);
    store
        .append_if(tagged("b"), unless("b"))
        .await
        .expect("an append");
    store.close().await;
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_succeed_after_server_was_read_only() {
    let database = database().await;
    check_read_only_for_a_while(&log_on(database.url()), &database).await;
}

/// The pooler keeps the sessions of the time when the server was read-only.
#[tokio::test(flavor = "multi_thread")]
async fn appends_behind_pooler_succeed_after_server_was_read_only() {
    let bouncer = PgBouncer::start(server().await.url()).await;
    let Some(bouncer) = unmet::need("pgbouncer", bouncer) else {
        return;
    };
    let database = database().await;
    let log = log_on(&bouncer.url(database.name())).transaction_pooling();
    let store = connect(&log).await;
    let mut sql = Sql::connect(database.url()).await;
    store.append(tagged("a")).await.expect("an append");
    make_read_only(&mut sql, &database).await;
    // The pooler finds out one by one that its sessions were ended.
    let refused = loop {
        match store.append(tagged("b")).await {
            Err(Error::Fault(Fault::ReadOnly(_))) => break store.append(tagged("b")).await,
            Ok(appended) => panic!("appended {appended:?}"),
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
    };
    assert_read_only(refused);
    make_writable(&mut sql, &database).await;
    let mut refusals = 0;
    while let Err(error) = store.append(tagged("c")).await {
        assert!(error.is_transient(), "{error}");
        refusals += 1;
        // Each refusal costs the pooler one session, and it has a few.
        assert!(refusals < 20, "{error}");
    }
    store.close().await;
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn own_transaction_on_read_only_server_is_refused() {
    let database = database().await;
    let store = connect(&log_on(database.url())).await;
    let mut session = PgConnection::connect(database.url()).await.unwrap();
    let mut transaction = session.begin_with("BEGIN READ ONLY").await.unwrap();
    let append = Append::new(tagged("a"));
    assert_read_only(store.submit_in(&mut transaction, append).await);
    drop(transaction);
    store.close().await;
}

/// Ways to spoil a session that has prepared statements.
const SPOILS: [&str; 3] = [
    "DEALLOCATE ALL",
    "BEGIN; SELECT 1 / 0",
    "SET default_transaction_read_only = on",
];

/// Several reads of different kinds at the same time.
async fn read(store: &PostgresStore) -> Vec<u64> {
    let reads = (0..6).map(|number| async move {
        match number % 3 {
            0 => whole_log(store).await.len() as u64,
            1 => store.count(&Query::all()).await.expect("a count"),
            _ => head(store).await,
        }
    });
    futures_util::future::join_all(reads).await
}

#[tokio::test(flavor = "multi_thread")]
async fn spoiled_session_costs_one_append_and_no_read() {
    for spoil in SPOILS {
        let database = database().await;
        let proxy = SessionProxy::start(database.url()).await;
        let store = connect(&log_on(proxy.url())).await;
        let mut stored = fill(&store).await;
        read(&store).await;
        for _ in 0..3 {
            assert!(proxy.run(spoil).await > 1, "a writer and readers");
            if let Err(error) = store.append(tagged("a")).await {
                assert!(error.is_transient(), "{spoil}: {error:?}");
                let next = store.append(tagged("a")).await;
                next.unwrap_or_else(|error| panic!("{spoil}: {error:?}"));
            }
            stored += 1;
            assert_eq!(read(&store).await, [stored; 6], "{spoil}");
        }
        store.close().await;
    }
}

/// Another client of the session has taken the names of the next prepared statements.
#[tokio::test(flavor = "multi_thread")]
async fn taken_statement_name_costs_one_append_and_no_read() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let store = connect(&log_on(proxy.url())).await;
    let stored = fill(&store).await;
    head(&store).await;
    for number in 0..30 {
        // Fails for the names that the store has taken.
        proxy
            .run(&format!("PREPARE sqlx_s_{number} AS SELECT 1"))
            .await;
    }
    // Both need a statement that the session has not prepared.
    assert!(store.exists(&tag("a")).await.expect("a read"));
    let append = || {
        let command = Command::builder("Do").build().expect("a command");
        store.submit(Append::new(tagged("a")).command(command))
    };
    let first = append().await;
    assert!(
        matches!(&first, Err(Error::Fault(Fault::Unreachable(_)))),
        "{first:?}"
    );
    let next = append().await.expect("another session");
    assert_eq!(next.first().get(), stored + 1);
    store.close().await;
}

/// A stream that starts in a spoiled session goes on in another.
#[tokio::test(flavor = "multi_thread")]
async fn stream_in_spoiled_session_yields_all_events() {
    for spoil in SPOILS {
        let database = database().await;
        let proxy = SessionProxy::start(database.url()).await;
        let store = connect(&log_on(proxy.url())).await;
        let stored = fill(&store).await;
        read(&store).await;
        proxy.run(spoil).await;
        let all = ReadOptions::new();
        let mut stream = store.query_stream(&tag("a"), all).await.expect(spoil);
        let mut seen = 0;
        while let Some(event) = stream.next().await {
            event.unwrap_or_else(|error| panic!("{spoil}: {error:?}"));
            seen += 1;
        }
        assert_eq!(seen, stored, "{spoil}");
        store.close().await;
    }
}

/// A column gets another type, as an operator might change it, or a failover to a changed copy.
#[tokio::test(flavor = "multi_thread")]
async fn reads_succeed_after_result_type_changes() {
    let database = database().await;
    let log = log_on(database.url());
    let store = connect(&log).await;
    let mut stored = fill(&store).await;
    let mut sql = Sql::connect(database.url()).await;
    for new_type in ["varchar", "text"] {
        read(&store).await;
        sql.run(&format!(
            "ALTER TABLE \"{}\".event ALTER COLUMN type TYPE {new_type}",
            log.schema
        ))
        .await;
        assert_eq!(read(&store).await, [stored; 6], "{new_type}");
        store.append(tagged("a")).await.expect("an append");
        stored += 1;
    }
    store.close().await;
    sql.close().await;
}

/// PostgreSQL 17 ends a session after `transaction_timeout`. The error was not transient.
#[tokio::test(flavor = "multi_thread")]
async fn transaction_timeout_is_transient() {
    let database = database().await;
    let mut log = log_on(database.url());
    log.write_timeout = Duration::from_secs(1);
    let store = connect(&log).await;
    let stored = fill(&store).await;
    let mut sql = Sql::connect(database.url()).await;
    let schema = &log.schema;
    sql.run(&format!(
        "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN RAISE 'terminating connection' USING ERRCODE = '25P04'; END $$; \
         CREATE TRIGGER end_session BEFORE INSERT ON \"{schema}\".event FOR EACH ROW \
         EXECUTE FUNCTION end_session()"
    ))
    .await;
    let ended = store.append(tagged("a")).await.expect_err("an error");
    assert!(ended.is_transient(), "{ended:?}");
    assert_eq!(head(&store).await, stored);
    sql.run(&format!("DROP TRIGGER end_session ON \"{schema}\".event"))
        .await;
    let next = store.append(tagged("a")).await.expect("another session");
    assert_eq!(next.first().get(), stored + 1);
    store.close().await;
    sql.close().await;
}

/// Rights and `search_path` do not belong to the session: a change needs no new one.
#[tokio::test(flavor = "multi_thread")]
async fn appends_succeed_after_right_is_given_back() {
    let database = database().await;
    let log = log_on(database.url());
    connect(&log).await.close().await;
    let (schema, role) = (&log.schema, format!("{}_app", database.name()));
    let mut sql = Sql::connect(database.url()).await;
    for grant in [
        format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'app'"),
        format!("GRANT ALL ON SCHEMA \"{schema}\" TO \"{role}\""),
        format!("GRANT ALL ON ALL TABLES IN SCHEMA \"{schema}\" TO \"{role}\""),
        format!("ALTER ROLE \"{role}\" SET search_path = nowhere"),
    ] {
        sql.run(&grant).await;
    }
    let (_, server) = database.url().rsplit_once('@').expect("a user");
    let mut as_role = log.clone();
    as_role.url = format!("postgres://{role}:app@{server}");
    let store = connect(&as_role).await;
    fill(&store).await;
    let right = format!("INSERT ON \"{schema}\".event");
    sql.run(&format!("REVOKE {right} FROM \"{role}\"")).await;
    let refused = store.append(tagged("a")).await;
    assert!(
        matches!(&refused, Err(Error::Fault(fault)) if fault.code() == Some("42501")),
        "{refused:?}"
    );
    sql.run(&format!("GRANT {right} TO \"{role}\"")).await;
    store.append(tagged("a")).await.expect("the right is back");
    store.close().await;
    sql.run(&format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\""))
        .await;
    sql.close().await;
}
