//! A write is repeated until its outcome is known.

use std::time::Duration;

use local_postgres::Database;
use message_store::postgres::{Config, PostgresStore};
use message_store::{
    Error, ExpectedVersion, Fault, MessageStore as _, Position, StreamWrite, write_until_known,
};

use super::crash::{Faults, Proxy};
use crate::support::postgres::{
    connect, fresh_store, message, stream_name, wait_until, whole_category, write,
};

/// Longer than any test takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A store whose outcomes soon become unknown, the proxy in front of its server, and a store that
/// does not use the proxy.
async fn through_a_proxy() -> (Database, PostgresStore, Proxy, PostgresStore) {
    let (database, other) = fresh_store().await;
    let proxy = Proxy::start(database.url()).await;
    let mut config = Config::new(&proxy.url);
    config.write_timeout = Duration::from_millis(300);
    (database, connect(config).await, proxy, other)
}

/// Messages without ids, which a careless repetition would store twice.
fn two_writes() -> Vec<StreamWrite> {
    let write = |name, number| {
        StreamWrite::new(stream_name(name), [message(number), message(number + 1)])
            .expected_version(ExpectedVersion::NoStream)
    };
    vec![write("a-1", 1), write("b-1", 3)]
}

#[tokio::test(flavor = "multi_thread")]
async fn write_is_stored_once_after_server_was_away() {
    let (_database, store, proxy, other) = through_a_proxy().await;
    proxy.set(Faults::DownAt("write_batch"));
    let writing = tokio::spawn({
        let store = store.clone();
        async move { write_until_known(&store, two_writes(), LIMIT).await }
    });
    // Any write fails while the server is away.
    let is_away = async || {
        let any = ExpectedVersion::Any;
        let stream = stream_name("c-1");
        let written = store.write_message(&stream, message(9), any).await;
        matches!(written, Err(Error::Fault(Fault::Unreachable(_))))
    };
    wait_until("the first try has failed", is_away).await;
    assert!(!writing.is_finished());
    proxy.set(Faults::None);
    let written = writing
        .await
        .expect("no panic")
        .expect("the write succeeds");
    assert_eq!(written.len(), 2);
    assert_eq!(written[1][1].position, Position::new(1));
    let stored = whole_category(&other, "a").await.len() + whole_category(&other, "b").await.len();
    assert_eq!(stored, 4);
    store.close().await;
    other.close().await;
}

/// The server gets the write and stores it, but the answer is lost.
#[tokio::test(flavor = "multi_thread")]
async fn lost_answer_returns_first_positions() {
    let (_database, store, proxy, other) = through_a_proxy().await;
    for round in 0..5 {
        proxy.set(Faults::CutOnce {
            at: "write_batch",
            forwards: true,
        });
        let name = format!("a-{round}");
        let write = StreamWrite::new(stream_name(&name), message(round))
            .expected_version(ExpectedVersion::NoStream);
        let written = write_until_known(&store, vec![write], LIMIT).await;
        let written = written.expect("the write succeeds");
        assert_eq!(written[0][0].position, Position::START);
    }
    assert_eq!(whole_category(&other, "a").await.len(), 5);
    store.close().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_after_unknown_try_is_returned() {
    let (_database, store, proxy, other) = through_a_proxy().await;
    write(&other, "b-1", 7).await;
    proxy.set(Faults::DownAt("write_batch"));
    let limit = Duration::from_millis(100);
    let unknown = write_until_known(&store, two_writes(), limit).await;
    assert!(
        matches!(&unknown, Err(Error::OutcomeUnknown { ids }) if ids.len() == 4),
        "{unknown:?}"
    );
    proxy.set(Faults::None);
    let refused = write_until_known(&store, two_writes(), LIMIT).await;
    assert!(
        matches!(&refused, Err(Error::WrongExpectedVersion { stream, .. }) if stream == "b-1"),
        "{refused:?}"
    );
    assert!(whole_category(&other, "a").await.is_empty());
    store.close().await;
    let closed = write_until_known(&store, two_writes(), LIMIT).await;
    assert!(
        matches!(closed, Err(Error::Fault(Fault::Closed))),
        "{closed:?}"
    );
    other.close().await;
}
