//! Health waits for no call of others.

use local_postgres::SessionProxy;

use crate::place::{Ground, LONG, wait_until};
use crate::sql::Sql;
use crate::store::{Call, Store};

/// A read or a write is under way that takes long: its connection is silent. Behind a pooler, only the time
/// limit of a call tells.
pub(crate) async fn health_waits_for_no_other_call<S: Store>(ground: &Ground<S>) {
    for writes in [false, true] {
        let database = ground.database().await;
        let proxy = SessionProxy::start(database.url()).await;
        let mut config = ground.config(proxy.url());
        config.transaction_pooling = true;
        config.read_connections = 1;
        (config.read_timeout, config.write_timeout) = (LONG, LONG);
        let store = ground.connect(config).await;
        let mut lock = Sql::connect(database.url()).await;
        let mut sql = Sql::connect(database.url()).await;
        lock.run(&format!("BEGIN; LOCK TABLE {}", S::TABLE)).await;
        let call = {
            let store = store.clone();
            match writes {
                true => Call::new("write", async move { store.write().await }),
                false => Call::new("read", async move { store.ids().await }),
            }
        };
        let call = tokio::spawn(call.succeed());
        wait_until("the call waits", async || {
            let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = \
                          (SELECT oid FROM pg_database WHERE datname = current_database())";
            sql.number(waits).await == 1
        })
        .await;
        proxy.silence();
        lock.run("COMMIT").await;
        // The first check may spend its time on the other idle connection, which is silent too.
        wait_until("the store is healthy", async || {
            store.health().await.is_ok()
        })
        .await;
        assert!(!call.is_finished());
        call.abort();
    }
}
