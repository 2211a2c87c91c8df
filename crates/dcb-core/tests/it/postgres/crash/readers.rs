//! Reads during and after a restart of the server.

use std::time::Duration;

use conformance_suite::effort;
use dcb_core::postgres::PostgresStore;
use dcb_core::{Error, EventStore as _, Fault, Projector, Query};
use local_postgres::Durability;

use crate::support::events::{tag, tagged, whole_log};
use crate::support::postgres::{connect, log_on, private_server};

/// Runs more concurrent reads than there are connections, of several kinds. None may fail.
async fn assert_all_read(store: &PostgresStore, expected: u64) {
    let tasks: Vec<_> = (0..30)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                match number % 3 {
                    0 => whole_log(&store).await.len() as u64,
                    1 => store.count(&tag("a")).await.unwrap(),
                    _ => {
                        let counter = Projector::counter(Query::all());
                        store.project(&counter).await.unwrap().state
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_after_a_server_restart_succeed() {
    let server = private_server(Durability::Durable, &[]).await;
    let store = connect(&log_on(server.url())).await;
    store.append(tagged("a")).await.unwrap();
    assert_all_read(&store, 1).await;
    for round in 0..effort(2) {
        if round % 2 == 0 {
            server.kill_hard().unwrap();
        }
        server.restart().await.unwrap();
        assert_all_read(&store, 1).await;
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_while_the_server_is_down_fail_in_time() {
    let server = private_server(Durability::Durable, &[]).await;
    let mut log = log_on(server.url());
    log.read_timeout = Duration::from_millis(500);
    log.write_timeout = Duration::from_millis(500);
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    server.kill_hard().unwrap();
    let head = store.head().await;
    assert!(
        matches!(
            head,
            Err(Error::Fault(Fault::Unreachable(_)) | Error::Fault(Fault::TimedOut { .. }))
        ),
        "{head:?}"
    );
    let first = store.append(tagged("a")).await;
    assert!(
        matches!(first, Err(Error::OutcomeUnknown { .. })),
        "{first:?}"
    );
    let next = store.append(tagged("a")).await;
    assert!(
        matches!(next, Err(Error::Fault(Fault::Unreachable(_)))),
        "{next:?}"
    );
    server.restart().await.unwrap();
    assert_all_read(&store, 1).await;
    store.append(tagged("a")).await.unwrap();
    assert_all_read(&store, 2).await;
    store.close().await;
}
