//! A server that encrypts its connections, as managed servers demand.

use local_postgres::{Certificates, Durability, PgBouncer};

use crate::place::{Ground, count, private_server, server};
use crate::sql::Sql;
use crate::store::Store;

/// The text of the error of a store that can't connect, now and later.
async fn refused<S: Store>(ground: &Ground<S>, url: &str) -> String {
    let refused = ground.refused(ground.config(url)).await;
    assert!(!refused.is_transient, "{refused:?}");
    refused.text
}

pub(crate) async fn every_session_of_a_store_is_encrypted<S: Store>(ground: &Ground<S>) {
    let server = private_server(Durability::Relaxed).await;
    let certificates = Certificates::make();
    certificates.install(server.url()).await;
    let url = certificates.url(server.url(), "certified", "verify-full");
    let certified = format!("{url}{}", certificates.client_parameters());
    let store = ground.open(&certified).await;
    let mut following = store.subscribe(None);
    store.write().await.unwrap();
    S::next(&mut following).await.unwrap();
    assert_eq!(count(&store).await, 1);
    let mut sql = Sql::connect(server.url()).await;
    let sessions = format!(
        "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = '{}'",
        S::APPLICATION
    );
    let encrypted = format!("SELECT count(*) {sessions} AND ssl");
    // A writer, a reader and a listener.
    assert!(sql.number(&encrypted).await >= 3);
    let plain = format!("SELECT count(*) {sessions} AND NOT ssl");
    assert_eq!(sql.number(&plain).await, 0);
    store.close().await;

    let other = Certificates::make().url(server.url(), "postgres", "verify-full");
    let missing = refused(ground, &other).await;
    assert!(missing.contains("sslrootcert"), "{missing}");
    let other = Certificates::make();
    let untrusted = other.url(server.url(), "postgres", "verify-full");
    let untrusted = refused(ground, &untrusted).await;
    assert!(untrusted.contains("certificate"), "{untrusted}");
    let uncertified = refused(ground, &url).await;
    assert!(uncertified.contains("client certificate"), "{uncertified}");
}

pub(crate) async fn server_without_encryption_is_refused_if_the_url_demands_it<S: Store>(
    ground: &Ground<S>,
) {
    let url = Certificates::url_without_root(server().await.url(), "postgres", "require");
    let refused = refused(ground, &url).await;
    assert!(refused.contains("does not support TLS"), "{refused}");
}

pub(crate) async fn pooler_that_demands_encryption_gets_it<S: Store>(ground: &Ground<S>) {
    let certificates = Certificates::make();
    let bouncer = PgBouncer::start_encrypting(server().await.url(), &certificates).await;
    let Some(bouncer) = unmet::need("pgbouncer", bouncer) else {
        return;
    };
    let database = ground.database().await;
    for (written, mode) in ["allow", "prefer", "verify-full"].iter().enumerate() {
        let url = certificates.url(&bouncer.url(database.name()), "postgres", mode);
        let mut config = ground.config(&url);
        config.transaction_pooling = true;
        let store = ground.connect(config).await;
        store.write().await.unwrap();
        assert_eq!(count(&store).await, written + 1, "{mode}");
        store.close().await;
    }
}
