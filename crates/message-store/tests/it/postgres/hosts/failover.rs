use std::time::Duration;

use message_store::postgres::{Config, PostgresStore};
use message_store::{ExpectedVersion, GlobalPosition, MessageStore as _, SubscribeOptions};
use tokio::time::{Instant, sleep, timeout};

use super::{cluster, url};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    category, connect, message, stream_name, wait_until, whole_stream, write,
};

/// Writes to a stream until the end. Returns the numbers of the messages that were acknowledged.
async fn write_until(store: PostgresStore, stream: String, end: Instant) -> Vec<u64> {
    let (name, mut acknowledged) = (stream_name(&stream), Vec::new());
    let mut number = 0;
    while Instant::now() < end {
        number += 1;
        let written = store.write_message(&name, message(number), ExpectedVersion::Any);
        match written.await {
            Ok(_) => acknowledged.push(number),
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
    acknowledged
}

async fn written(store: &PostgresStore, stream: &str) -> bool {
    let name = stream_name(stream);
    let written = store.write_message(&name, message(0), ExpectedVersion::Any);
    written.await.is_ok()
}

/// The store moves to the promoted standby without a restart. Replication is synchronous, so no
/// acknowledged message is lost.
#[tokio::test(flavor = "multi_thread")]
async fn store_moves_to_a_promoted_standby() {
    let Some((primary, standbys)) = cluster(1).await else {
        return;
    };
    let standby = &standbys[0];
    let mut sql = Sql::connect(primary.url()).await;
    sql.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        .await;
    sql.run("SELECT pg_reload_conf()").await;
    let store = connect(Config::new(url(&[standby.url(), primary.url()]))).await;
    store
        .save_checkpoint("c", GlobalPosition::new(1))
        .await
        .unwrap();
    let options = SubscribeOptions::new();
    let mut subscription =
        store.subscribe_to_category(category("a"), GlobalPosition::START, options);
    let end = Instant::now() + Duration::from_secs(3);
    let callers: Vec<_> = (0..4)
        .map(|caller| {
            let stream = format!("a-{caller}");
            tokio::spawn(write_until(store.clone(), stream, end))
        })
        .collect();
    sleep(Duration::from_millis(500)).await;
    primary.kill_hard().unwrap();
    sleep(Duration::from_millis(500)).await;
    Sql::connect(standby.url())
        .await
        .run("SELECT pg_promote()")
        .await;
    wait_until("a write succeeds", async || written(&store, "b-1").await).await;
    let mut count = 0;
    for (caller, writes) in callers.into_iter().enumerate() {
        let acknowledged = writes.await.unwrap();
        let stored = whole_stream(&store, &format!("a-{caller}")).await;
        let mut numbers: Vec<u64> = stored
            .iter()
            .map(|message| message.data().expect("a number"))
            .collect();
        count += numbers.len();
        assert!(acknowledged.iter().all(|number| numbers.contains(number)));
        numbers.dedup();
        assert_eq!(numbers.len(), stored.len(), "a message is there twice");
    }
    let seen = async {
        for _ in 0..count {
            subscription.next().await.unwrap();
        }
    };
    timeout(Duration::from_secs(30), seen)
        .await
        .expect("the subscription goes on");
    // Checkpoints use the connections for reads.
    let saved = store.checkpoint("c").await.unwrap();
    assert_eq!(saved, Some(GlobalPosition::new(1).into()));
    store
        .save_checkpoint("c", GlobalPosition::new(2))
        .await
        .unwrap();
    write(&store, "b-1", 2).await;
    store.close().await;
}
