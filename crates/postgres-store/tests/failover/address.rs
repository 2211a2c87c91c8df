//! A failover moves the only address to a standby that is still replaying. Nothing is lost, so no caller
//! may be told of a loss, or read an older state.

use std::fmt::Debug;
use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Event, EventStore as _, Query, ReadOptions, SubscribeOptions};
use message_store::postgres as message_postgres;
use message_store::{
    Category, CategoryRead, ConsumerGroup, ExpectedVersion, GlobalPosition, Message,
    MessageStore as _, StreamName,
};
use tokio::time::sleep;

use crate::cluster::{Address, Cluster as _, Replication, StandbyCluster};

/// How long the address leads to a standby.
const STANDBY: Duration = Duration::from_secs(1);

async fn cluster() -> Option<StandbyCluster> {
    StandbyCluster::start(Replication::Synchronous, Address::One).await
}

/// The answer to a call that begins when the address leads to a standby, once it is no error that may
/// pass.
async fn across_promotion<T, E: Debug>(
    cluster: &StandbyCluster,
    mut call: impl AsyncFnMut() -> Result<T, E>,
    is_transient: impl Fn(&E) -> bool,
) -> T {
    cluster.lead_to_standby();
    let promotion = async {
        sleep(STANDBY).await;
        cluster.promote().await
    };
    let answer = async {
        loop {
            match call().await {
                Err(error) if is_transient(&error) => sleep(Duration::from_millis(10)).await,
                answer => return answer.expect("nothing is lost"),
            }
        }
    };
    tokio::join!(promotion, answer).1
}

#[tokio::test(flavor = "multi_thread")]
async fn standby_that_lags_shows_no_older_log() {
    let Some(cluster) = cluster().await else {
        return;
    };
    let config = Config::new(cluster.url());
    let store = PostgresStore::connect(config).await.unwrap();
    let append = async || {
        let event = Event::builder("Deposited").build().unwrap();
        store.append(event).await.unwrap().last()
    };
    append().await;
    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    events.next().await.unwrap().unwrap();
    cluster.stop_replay().await;
    let last = append().await;
    let event = events.next().await.unwrap().unwrap();
    assert_eq!(event.position(), last);

    let (all, after) = (Query::all(), ReadOptions::new().after(event.bookmark()));
    let reads = async || {
        let next = store.query(&all, after).await?;
        Ok((
            next.events.len(),
            store.head().await?.map(|head| head.position),
        ))
    };
    let read = across_promotion(&cluster, reads, dcb_core::Error::is_transient).await;
    assert_eq!(read, (0, Some(last)));
    let appended = append().await;
    assert_eq!(events.next().await.unwrap().unwrap().position(), appended);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn standby_that_lags_shows_no_older_messages() {
    let Some(cluster) = cluster().await else {
        return;
    };
    let config = message_postgres::Config::new(cluster.url());
    let store = message_postgres::PostgresStore::connect(config)
        .await
        .unwrap();
    let stream = StreamName::new("account-1").unwrap();
    let write = async || {
        let message = Message::builder("Opened").build().unwrap();
        let written = store.write_message(&stream, message, ExpectedVersion::Any);
        written.await.unwrap().global_position
    };
    write().await;
    let (category, member) = (
        Category::new("account").unwrap(),
        ConsumerGroup::new(0, 1).unwrap(),
    );
    let options = message_store::SubscribeOptions::new();
    let start = GlobalPosition::START;
    let mut messages = store.subscribe_to_group(category.clone(), member, start, options);
    messages.next().await.unwrap();
    cluster.stop_replay().await;
    let last = write().await;
    let message = messages.next().await.unwrap();
    assert_eq!(message.global_position(), last);

    let after = CategoryRead::new().start(message.bookmark());
    let reads = async || {
        let next = store
            .get_category_messages(&category, after.clone())
            .await?;
        Ok((next.len(), store.head().await?.map(|head| head.position)))
    };
    let read = across_promotion(&cluster, reads, message_store::Error::is_transient).await;
    assert_eq!(read, (0, Some(last)));
    let written = write().await;
    let next = loop {
        match messages.next().await {
            Err(error) if error.is_transient() => {}
            next => break next.expect("nothing is lost"),
        }
    };
    assert_eq!(next.global_position(), written);
    store.close().await;
}
