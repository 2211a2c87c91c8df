//! A server that encrypts its connections, as managed servers demand.

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{EventStore as _, Position, Query, SubscribeOptions};
use local_postgres::{Certificates, Durability, PgBouncer};

use crate::support::events::{head, tag, tagged};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, private_server, server};

/// The error of a store that can't connect, now and later.
async fn refused(config: Config) -> String {
    let refused = PostgresStore::connect(config).await.expect_err("refused");
    assert!(!refused.is_transient(), "{refused:?}");
    refused.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_session_of_a_store_is_encrypted() {
    let server = private_server(Durability::Relaxed, &[]).await;
    let certificates = Certificates::make();
    certificates.install(server.url()).await;
    let url = certificates.url(server.url(), "certified", "verify-full");
    let store = connect(&log_on(&(url + &certificates.client_parameters()))).await;
    let mut subscription = store.subscribe(Query::all(), None, SubscribeOptions::new());
    store.append(tagged("a")).await.unwrap();
    let seen = subscription.next().await.unwrap().unwrap();
    assert_eq!(seen.position(), Position::new(1).unwrap());
    assert_eq!(store.count(&tag("a")).await.unwrap(), 1);
    let mut sql = Sql::connect(server.url()).await;
    let sessions = "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                    WHERE application_name = 'dcb-core'";
    let encrypted = format!("SELECT count(*) {sessions} AND ssl");
    // A writer, a reader and a listener.
    assert!(sql.number(&encrypted).await >= 3);
    let plain = format!("SELECT count(*) {sessions} AND NOT ssl");
    assert_eq!(sql.number(&plain).await, 0);
    sql.close().await;
    store.close().await;

    let other = Certificates::make().url(server.url(), "postgres", "verify-full");
    let missing = refused(Config::new(other)).await;
    assert!(missing.contains("sslrootcert"), "{missing}");
    let other = Certificates::make();
    let untrusted = other.url(server.url(), "postgres", "verify-full");
    let untrusted = refused(Config::new(untrusted)).await;
    assert!(untrusted.contains("certificate"), "{untrusted}");
    let without_client = certificates.url(server.url(), "certified", "verify-full");
    let without_client = refused(Config::new(without_client)).await;
    assert!(
        without_client.contains("client certificate"),
        "{without_client}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn server_without_encryption_is_refused_if_the_url_demands_it() {
    let url = Certificates::url_without_root(server().await.url(), "postgres", "require");
    let refused = refused(Config::new(url)).await;
    assert!(refused.contains("does not support TLS"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pooler_that_demands_encryption_gets_it() {
    let server = server().await;
    let certificates = Certificates::make();
    let bouncer = PgBouncer::start_encrypting(server.url(), &certificates).await;
    let Some(bouncer) = unmet::need("pgbouncer", bouncer) else {
        return;
    };
    let database = server.create_database("encrypted").await.unwrap();
    for mode in ["allow", "prefer", "verify-full"] {
        let url = certificates.url(&bouncer.url(database.name()), "postgres", mode);
        let store = connect(&log_on(&url).transaction_pooling()).await;
        store.append(tagged("a")).await.unwrap();
        assert_eq!(head(&store).await, 1, "{mode}");
        store.close().await;
    }
}
