//! The writer's session ends in the middle of a write.

use std::collections::HashSet;

use tokio::task::JoinSet;
use uuid::Uuid;

use crate::place::{Ground, wait_until};
use crate::sql::Sql;
use crate::store::Store;

const ROUNDS: usize = 8;
const WRITES: usize = 8;

/// The lock holds the write until its session is ended. The store does not know whether the server has
/// committed the write, and finds out.
pub(crate) async fn ended_session_of_the_writer_costs_no_write<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    let store = ground.open(database.url()).await;
    let mut lock = Sql::connect(database.url()).await;
    let mut sql = Sql::connect(database.url()).await;
    let mut ids = HashSet::new();
    for _ in 0..ROUNDS {
        let table = S::TABLE;
        lock.run(&format!("BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE"))
            .await;
        let mut writes = JoinSet::new();
        for _ in 0..WRITES {
            let (store, id) = (store.clone(), Uuid::now_v7());
            ids.insert(id);
            writes.spawn(async move { store.write_as(id).await });
        }
        wait_until("the session of the write is ended", async || {
            let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                        WHERE datname = current_database() AND wait_event_type = 'Lock'";
            sql.number(end).await == 1
        })
        .await;
        lock.run("COMMIT").await;
        for written in writes.join_all().await {
            written.expect("the store finds out the outcome");
        }
    }
    let stored = store.ids().await.unwrap();
    assert_eq!(stored.len(), ids.len(), "each record once");
    assert_eq!(HashSet::from_iter(stored), ids);
    assert_eq!(store.lost_connections(), ROUNDS as u64);
    store.close().await;
}
