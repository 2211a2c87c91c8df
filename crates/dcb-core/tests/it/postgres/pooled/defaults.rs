//! PgBouncer with its defaults, and a store that does not know about it.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Error, Fault};

use super::PooledDatabase;

/// The error was `Unavailable`, so a service waited for a pooler that never accepts it.
#[tokio::test(flavor = "multi_thread")]
async fn pooler_without_transaction_pooling_is_named_and_not_transient() {
    let pooled = PooledDatabase::start("defaults").await;
    if pooled.bouncer.is_none() {
        return;
    }
    let mut log = pooled.new_log();
    log.transaction_pooling = false;
    let refused = PostgresStore::connect(log).await.unwrap_err();
    assert!(!refused.is_transient(), "{refused:?}");
    assert!(
        matches!(refused, Error::Fault(Fault::Refused(_))),
        "{refused:?}"
    );
    let text = refused.to_string();
    for named in [
        "extra_float_digits",
        "transaction_pooling",
        "ignore_startup_parameters",
    ] {
        assert!(text.contains(named), "{text}");
    }
}
