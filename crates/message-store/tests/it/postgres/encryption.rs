//! A server that encrypts its connections, as managed servers demand.

use local_postgres::{Certificates, Durability, Options, PgBouncer};
use message_store::postgres::{Config, PostgresStore};
use message_store::{Category, GlobalPosition, MessageStore as _, SubscribeOptions};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, fresh_database, separate_server, server, stream_name, whole_stream, write,
};

/// The error of a store that can't connect, now and later.
async fn refused(url: String) -> String {
    let refused = PostgresStore::connect(Config::new(url)).await;
    let refused = refused.expect_err("refused");
    assert!(!refused.is_transient(), "{refused:?}");
    refused.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_session_of_a_store_is_encrypted() {
    let server = separate_server(Options {
        durability: Durability::Relaxed,
        ..Options::default()
    })
    .await;
    let certificates = Certificates::make();
    certificates.install(server.url()).await;
    let url = certificates.url(server.url(), "certified", "verify-full");
    let store = connect(Config::new(url + &certificates.client_parameters())).await;
    let category = Category::of(&stream_name("account-1"));
    let mut subscription =
        store.subscribe_to_category(category, GlobalPosition::START, SubscribeOptions::new());
    write(&store, "account-1", 1).await;
    subscription.next().await.unwrap();
    assert_eq!(whole_stream(&store, "account-1").await.len(), 1);
    let mut sql = Sql::connect(server.url()).await;
    let sessions = "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                    WHERE application_name = 'message-store'";
    let encrypted = format!("SELECT count(*) {sessions} AND ssl");
    // A writer, a reader and a listener.
    assert!(sql.number(&encrypted).await >= 3);
    let plain = format!("SELECT count(*) {sessions} AND NOT ssl");
    assert_eq!(sql.number(&plain).await, 0);
    sql.close().await;
    store.close().await;

    let other = Certificates::make();
    let untrusted = refused(other.url(server.url(), "postgres", "verify-full")).await;
    assert!(untrusted.contains("certificate"), "{untrusted}");
    let without_client = certificates.url(server.url(), "certified", "verify-full");
    let without_client = refused(without_client).await;
    assert!(
        without_client.contains("client certificate"),
        "{without_client}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn server_without_encryption_is_refused_if_the_url_demands_it() {
    let url = Certificates::url_without_root(server().await.url(), "postgres", "require");
    let refused = refused(url).await;
    assert!(refused.contains("does not support TLS"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pooler_that_demands_encryption_gets_it() {
    let certificates = Certificates::make();
    let server = server().await;
    let bouncer = PgBouncer::start_encrypting(server.url(), &certificates).await;
    let Some(bouncer) = unmet::need("pgbouncer", bouncer) else {
        return;
    };
    let database = fresh_database().await;
    let url = certificates.url(&bouncer.url(database.name()), "postgres", "verify-full");
    let store = connect(Config::new(url).transaction_pooling()).await;
    write(&store, "account-1", 1).await;
    assert_eq!(whole_stream(&store, "account-1").await.len(), 1);
    store.close().await;
}
