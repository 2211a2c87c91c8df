use conformance_suite::assert_refused;
use dcb_core::{Error, EventStore, Fault, Query, ReadOptions};

use super::fixture::{tag, tagged};

pub(super) async fn closed_store_refuses_every_call(store: &impl EventStore) {
    store.append(tagged(&["a"])).await.unwrap();
    store.health().await.unwrap();
    store.close().await;
    assert_refused!(
        store.append(tagged(&["a"])).await,
        Error::Fault(Fault::Closed)
    );
    let read = store.query(&Query::all(), ReadOptions::new()).await;
    assert_refused!(read, Error::Fault(Fault::Closed));
    let stream = store.query_stream(&tag("a"), ReadOptions::new()).await;
    assert_refused!(stream.map(drop), Error::Fault(Fault::Closed));
    assert_refused!(store.head().await, Error::Fault(Fault::Closed));
    assert_refused!(store.count(&tag("a")).await, Error::Fault(Fault::Closed));
    assert_refused!(
        store.extent(&tag("a"), ..).await,
        Error::Fault(Fault::Closed)
    );
    assert_refused!(store.exists(&tag("a")).await, Error::Fault(Fault::Closed));
    assert_refused!(store.tracked("upstream").await, Error::Fault(Fault::Closed));
    assert_refused!(store.all_tracked().await, Error::Fault(Fault::Closed));
    assert_refused!(store.commands(None, 10).await, Error::Fault(Fault::Closed));
    assert_refused!(store.health().await, Error::Fault(Fault::Closed));
}

pub(super) async fn close_can_be_repeated(store: &impl EventStore) {
    store.close().await;
    store.close().await;
}
