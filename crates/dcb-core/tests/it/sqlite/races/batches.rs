//! Requests that share a commit.

use dcb_core::sqlite::SqliteStore;
use dcb_core::{Error, EventStore as _};

use crate::backends::batches::log_with_long_timeout;
use crate::support::events::{tagged, unless};
use crate::support::sqlite::files::commits;
use crate::support::sqlite::{connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_appends_share_commits() {
    let log = log_with_long_timeout::<SqliteStore>().await;
    let store = connect(&log).await;
    let tasks: Vec<_> = (0..2000)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.append(tagged("a")).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.appends, stats.events), (2000, 2000));
    assert!(stats.commits < 500, "{stats:?}");
    assert_eq!(stats.commits as usize, commits(&log.path()).len() - 1);
    store.close().await;
}

/// The write-ahead log shows the commits, because each commit ends a run of frames.
#[tokio::test(flavor = "multi_thread")]
async fn lone_append_takes_one_transaction() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let installed = commits(&log.path()).len();
    for number in 1..=30 {
        let name = number.to_string();
        let answer = store.append_if(tagged(&name), unless("other")).await;
        assert_eq!(answer.unwrap().first().get(), number);
    }
    // A refused append commits nothing.
    let refused = store.append_if(tagged("31"), unless("30")).await;
    assert!(
        matches!(refused, Err(Error::Conflict { .. })),
        "{refused:?}"
    );
    assert_eq!(commits(&log.path()).len() - installed, 30);
    store.close().await;
}
