//! Faults that belong to a session: a server that is read-only for a while, lost prepared statements, a
//! failed transaction. Each costs one write at most.

use std::fmt::Debug;
use std::time::Duration;

use futures_util::future::join_all;
use local_postgres::{Database, PgBouncer, SessionProxy};
use store_fault::Fault;

use crate::place::{Ground, count, server};
use crate::sql::Sql;
use crate::store::{Answer, Store, failure};

/// More writes than a writer needs before it changes its statement.
const WRITES: usize = 20;

/// A store that has written often.
async fn busy<S: Store>(ground: &Ground<S>, url: &str) -> S {
    let store = ground.open(url).await;
    for _ in 0..WRITES {
        store.write().await.expect("a write");
    }
    store
}

/// Makes reads of all kinds at the same time. Each succeeds.
async fn read(store: &impl Store, stored: usize) {
    let reads = store.reads().into_iter().chain(store.reads());
    join_all(reads.map(|read| read.succeed())).await;
    assert_eq!(count(store).await, stored);
}

/// Sets the default for new sessions and ends the others, as a hoster does when a disk is nearly
/// full.
async fn make_read_only(sql: &mut Sql, database: &Database) {
    let name = database.name();
    sql.run(&format!(
        "ALTER DATABASE \"{name}\" SET default_transaction_read_only = on"
    ))
    .await;
    sql.end_others().await;
}

async fn make_writable(sql: &mut Sql, database: &Database) {
    let name = database.name();
    sql.run(&format!(
        "ALTER DATABASE \"{name}\" RESET default_transaction_read_only"
    ))
    .await;
}

fn assert_read_only<T: Debug>(answer: Answer<T>) {
    let refused = failure(answer);
    let fault = &refused.fault;
    assert!(matches!(fault, Some(Fault::ReadOnly(_))), "{refused:?}");
    assert!(refused.is_transient, "{refused:?}");
    assert!(refused.text.contains("read-only"), "{refused:?}");
}

pub(crate) async fn writes_succeed_after_server_was_read_only<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    let store = busy(ground, database.url()).await;
    let mut sql = Sql::connect(database.url()).await;
    make_read_only(&mut sql, &database).await;
    for _ in 0..3 {
        assert_read_only(store.write().await);
        for change in store.changes() {
            assert_read_only(change.answer.await);
        }
        read(&store, WRITES).await;
    }
    make_writable(&mut sql, &database).await;
    store.write().await.expect("the next try writes");
    assert_eq!(count(&store).await, WRITES + 1);
    // No session is read-only any more.
    for _ in 0..10 {
        for change in store.changes() {
            change.succeed().await;
        }
    }
    store.close().await;
}

/// The pooler keeps the sessions of the time when the server was read-only.
pub(crate) async fn writes_behind_pooler_succeed_after_server_was_read_only<S: Store>(
    ground: &Ground<S>,
) {
    let bouncer = PgBouncer::start(server().await.url()).await;
    let Some(bouncer) = unmet::need("pgbouncer", bouncer) else {
        return;
    };
    let database = ground.database().await;
    let mut config = ground.config(&bouncer.url(database.name()));
    config.transaction_pooling = true;
    let store = ground.connect(config).await;
    let mut sql = Sql::connect(database.url()).await;
    store.write().await.expect("a write");
    make_read_only(&mut sql, &database).await;
    // The pooler finds out one by one that its sessions were ended.
    loop {
        let refused = failure(store.write().await);
        assert!(refused.is_transient, "{refused:?}");
        if matches!(refused.fault, Some(Fault::ReadOnly(_))) {
            break;
        }
    }
    assert_read_only(store.write().await);
    make_writable(&mut sql, &database).await;
    let mut refusals = 0;
    while let Err(refused) = store.write().await {
        assert!(refused.is_transient, "{refused:?}");
        refusals += 1;
        // Each refusal costs the pooler one session, and it has a few.
        assert!(refusals < 20, "{refused:?}");
    }
    assert_eq!(count(&store).await, 2);
    store.close().await;
}

pub(crate) async fn spoiled_session_costs_one_write_and_no_read<S: Store>(ground: &Ground<S>) {
    for spoil in [
        "DEALLOCATE ALL",
        "BEGIN; SELECT 1 / 0",
        "SET default_transaction_read_only = on",
    ] {
        let database = ground.database().await;
        let proxy = SessionProxy::start(database.url()).await;
        let store = busy(ground, proxy.url()).await;
        read(&store, WRITES).await;
        for round in 1..=3 {
            assert!(proxy.run(spoil).await > 1, "a writer and readers");
            if let Err(refused) = store.write().await {
                assert!(refused.is_transient, "{spoil}: {refused:?}");
                store.write().await.expect(spoil);
            }
            read(&store, WRITES + round).await;
        }
        store.close().await;
    }
}

/// Another client of the session has taken the names of the next prepared statements.
pub(crate) async fn taken_statement_name_costs_one_write_and_no_read<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    busy(ground, database.url()).await.close().await;
    let proxy = SessionProxy::start(database.url()).await;
    let store = ground.open(proxy.url()).await;
    store.head().await.unwrap();
    for number in 0..30 {
        // Fails for the names that the store has taken.
        proxy
            .run(&format!("PREPARE sqlx_s_{number} AS SELECT 1"))
            .await;
    }
    // They need statements that the sessions have not prepared.
    read(&store, WRITES).await;
    let mut stored = WRITES;
    match store.write().await {
        Ok(()) => stored += 1,
        Err(refused) => assert!(
            matches!(refused.fault, Some(Fault::Unreachable(_))),
            "{refused:?}"
        ),
    }
    store.write().await.expect("another session");
    assert_eq!(count(&store).await, stored + 1);
    store.close().await;
}

/// PostgreSQL 17 ends a session after `transaction_timeout`. The error was not transient.
pub(crate) async fn transaction_timeout_is_transient<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    let mut config = ground.config(database.url());
    config.write_timeout = Duration::from_secs(1);
    let store = ground.connect(config).await;
    store.write().await.unwrap();
    let mut sql = Sql::connect(database.url()).await;
    let table = S::TABLE;
    sql.run(&format!(
        "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN RAISE 'terminating connection' USING ERRCODE = '25P04'; END $$; \
         CREATE TRIGGER end_session BEFORE INSERT ON {table} FOR EACH ROW \
         EXECUTE FUNCTION end_session()"
    ))
    .await;
    let ended = failure(store.write().await);
    assert!(ended.is_transient, "{ended:?}");
    assert_eq!(count(&store).await, 1);
    sql.run(&format!("DROP TRIGGER end_session ON {table}"))
        .await;
    store.write().await.expect("another session");
    assert_eq!(count(&store).await, 2);
    store.close().await;
}

/// Rights do not belong to the session: a change needs no new one.
pub(crate) async fn writes_succeed_after_right_is_given_back<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    ground.open(database.url()).await.close().await;
    let role = format!("{}_app", database.name());
    let (schema, _) = S::TABLE.split_once('.').expect("a schema");
    let mut sql = Sql::connect(database.url()).await;
    for statement in [
        format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'app'"),
        format!("GRANT ALL ON SCHEMA {schema} TO \"{role}\""),
        format!("GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO \"{role}\""),
        format!("GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO \"{role}\""),
        format!("GRANT ALL ON ALL FUNCTIONS IN SCHEMA {schema} TO \"{role}\""),
        format!("ALTER ROLE \"{role}\" SET search_path = nowhere"),
    ] {
        sql.run(&statement).await;
    }
    let (_, server) = database.url().rsplit_once('@').expect("a user");
    let store = busy(ground, &format!("postgres://{role}:app@{server}")).await;
    let right = format!("INSERT ON {}", S::TABLE);
    sql.run(&format!("REVOKE {right} FROM \"{role}\"")).await;
    let refused = failure(store.write().await);
    let code = refused.fault.as_ref().and_then(Fault::code);
    assert_eq!(code, Some("42501"), "{refused:?}");
    sql.run(&format!("GRANT {right} TO \"{role}\"")).await;
    store.write().await.expect("the right is back");
    store.close().await;
    sql.run(&format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\""))
        .await;
}
