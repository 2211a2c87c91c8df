//! With a synchronous standby, nothing is acknowledged that the standby lacks.

use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Append, Error, Event, EventStore as _, append_until_known};
use message_store::postgres as message_postgres;
use message_store::{Message, MessageStore as _, StreamName, StreamWrite, write_until_known};
use uuid::Uuid;

use crate::cluster::{Address, Cluster as _, Replication, StandbyCluster};

const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// When the standby is cut off, a commit waits for it. After its time limit, the store ends the session
/// to learn the outcome. By that the events become visible at the leader, and only there.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_append_waits_for_the_standby() {
    let Some(cluster) = StandbyCluster::start(Replication::Synchronous, Address::Several).await
    else {
        return;
    };
    let mut config = Config::new(cluster.url());
    config.write_timeout = WRITE_TIMEOUT;
    let store = PostgresStore::connect(config).await.unwrap();
    let event = Event::builder("NameTaken").id(Uuid::now_v7());
    let append = Append::new(event.build().unwrap());
    let submit = async |limit| append_until_known(&store, append.clone(), limit).await;

    cluster.replication().cut();
    let answer = submit(WRITE_TIMEOUT * 5).await;
    assert!(
        matches!(answer, Err(Error::OutcomeUnknown { .. })),
        "{answer:?}"
    );
    cluster.replication().mend();
    let appended = submit(Duration::from_secs(30)).await.unwrap();
    cluster.promote().await;
    assert_eq!(
        store.head().await.unwrap().map(|head| head.position),
        Some(appended.last())
    );
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_write_waits_for_the_standby() {
    let Some(cluster) = StandbyCluster::start(Replication::Synchronous, Address::Several).await
    else {
        return;
    };
    let mut config = message_postgres::Config::new(cluster.url());
    config.write_timeout = WRITE_TIMEOUT;
    let store = message_postgres::PostgresStore::connect(config)
        .await
        .unwrap();
    let message = Message::builder("Opened").id(Uuid::now_v7());
    let stream = StreamName::new("account-1").unwrap();
    let write = vec![StreamWrite::new(stream, message.build().unwrap())];
    let submit = async |limit| write_until_known(&store, write.clone(), limit).await;

    cluster.replication().cut();
    let answer = submit(WRITE_TIMEOUT * 5).await;
    assert!(
        matches!(answer, Err(message_store::Error::OutcomeUnknown { .. })),
        "{answer:?}"
    );
    cluster.replication().mend();
    let written = submit(Duration::from_secs(30)).await.unwrap();
    cluster.promote().await;
    assert_eq!(
        store.head().await.unwrap().map(|head| head.position),
        Some(written[0][0].global_position)
    );
    store.close().await;
}
