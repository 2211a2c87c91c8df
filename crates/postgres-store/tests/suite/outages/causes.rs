//! The error names the cause at each host.

use local_postgres::{Durability, LocalPostgres};
use postgres_store::{ConnectErrorKind, ServerConfig};
use store_fault::Fault;

use crate::place::{Ground, LONG, private_server, soon, wait_until};
use crate::sql::Sql;
use crate::store::{Failed, Store};

pub(crate) async fn refused_connection_is_the_cause<S: Store>(ground: &Ground<S>) {
    let server = private_server(Durability::Relaxed).await;
    let mut config = ground.config(server.url());
    config.read_timeout = std::time::Duration::from_secs(1);
    let store = ground.connect(config).await;
    store.write().await.unwrap();
    store.head().await.unwrap();
    server.kill_hard().unwrap();
    let failed = soon(store.head()).await;
    assert_eq!(failed.cause().kind(), ConnectErrorKind::Refused);
    let host = &failed.cause().hosts()[0];
    let place = format!("{}:{}", host.host(), host.port());
    assert!(server.url().contains(&place), "{place}");
    let text = format!("the database can't be reached: {place} refused the connection");
    assert_eq!(failed.text, text);
}

pub(crate) async fn unknown_name_is_the_cause<S: Store>(ground: &Ground<S>) {
    let nowhere = ground.config("postgres://app@no-such-host.invalid/none");
    let failed = ground.refused(nowhere).await;
    assert_eq!(failed.cause().kind(), ConnectErrorKind::Dns, "{failed:?}");
    assert!(failed.is_transient, "{failed:?}");
}

/// A server on which the role `guarded` needs the password `right`.
async fn guarded_server<S: Store>(ground: &Ground<S>) -> LocalPostgres {
    let server = private_server(Durability::Relaxed).await;
    let mut sql = Sql::connect(server.url()).await;
    for statement in [
        "CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right'",
        "COPY (VALUES ('host all guarded all scram-sha-256'), ('host all all all trust'), \
                      ('local all all trust')) TO PROGRAM 'cat > pg_hba.conf'",
        "SELECT pg_reload_conf()",
    ] {
        sql.run(statement).await;
    }
    wait_until("the rules are in force", async || {
        S::connect(guarded(ground, &server, "wrong")).await.is_err()
    })
    .await;
    server
}

/// The settings of the role `guarded`, whose calls have much time.
fn guarded<S: Store>(ground: &Ground<S>, server: &LocalPostgres, password: &str) -> ServerConfig {
    let (_, rest) = server.url().split_once('@').unwrap();
    let mut config = ground.config(&format!("postgres://guarded:{password}@{rest}"));
    (config.read_timeout, config.write_timeout) = (LONG, LONG);
    config
}

fn assert_refused_for_good(failed: &Failed, expected: &str) {
    let Some(Fault::Refused(reason)) = &failed.fault else {
        panic!("{failed:?}");
    };
    assert_eq!(reason.code(), Some(expected), "{failed:?}");
    assert!(reason.message().contains("127.0.0.1:"), "{failed:?}");
    assert!(!failed.is_transient, "{failed:?}");
}

pub(crate) async fn wrong_password_or_role_or_database_is_told_at_once<S: Store>(
    ground: &Ground<S>,
) {
    let server = guarded_server(ground).await;
    let store = ground.connect(guarded(ground, &server, "right")).await;
    let wrong = guarded(ground, &server, "wrong");
    assert_refused_for_good(&ground.refused(wrong).await, "28P01");
    let url = server.url();
    let (_, rest) = url.split_once('@').unwrap();
    let role = ground.config(&format!("postgres://no_such_role@{rest}"));
    assert_refused_for_good(&ground.refused(role).await, "28000");
    let (place, _) = url.rsplit_once('/').unwrap();
    let database = ground.config(&format!("{place}/no_such_database"));
    assert_refused_for_good(&ground.refused(database).await, "3D000");
    let encrypted = ground.config(&format!("{url}?sslmode=require"));
    let unencrypted = ground.refused(encrypted).await;
    let fault = &unencrypted.fault;
    assert!(matches!(fault, Some(Fault::Refused(_))), "{unencrypted:?}");
    assert!(!unencrypted.is_transient, "{unencrypted:?}");
    // The password changes while the store is open.
    store.write().await.unwrap();
    store.head().await.unwrap();
    let mut sql = Sql::connect(url).await;
    sql.run("ALTER ROLE guarded PASSWORD 'other'").await;
    sql.run(&local_postgres::end_sessions("usename = 'guarded'"))
        .await;
    assert_refused_for_good(&soon(store.head()).await, "28P01");
    // The first write learns that its connection is gone.
    soon(store.write()).await;
    assert_refused_for_good(&soon(store.write()).await, "28P01");
    sql.run("ALTER ROLE guarded PASSWORD 'right'").await;
    store.head().await.unwrap();
    store.write().await.unwrap();
}
