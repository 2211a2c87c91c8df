//! Limits of decisions while the server can't be reached.

use std::time::Duration;

use dcb_core::postgres::{ConnectError, ConnectErrorKind, PostgresStore};
use dcb_core::{DecisionModel, Error, Event, EventStore as _, Fault, Projector};
use local_postgres::{Durability, SessionProxy};
use tokio::time::timeout;

use crate::support::events::{tag, tagged};
use crate::support::postgres::sql::LogLock;
use crate::support::postgres::{connect, fresh_log, log_on, private_server};

/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);
const LIMIT: Duration = Duration::from_secs(2);
/// Longer than a failing test waits, so that a decision that keeps this limit instead of its own fails.
const LONG: Duration = Duration::from_secs(600);

/// The error of a decision with this limit, which appends an event.
async fn decide(store: &PostgresStore, limit: Duration) -> Error {
    let decided = DecisionModel::new(Projector::counter(tag("a"))).time_limit(limit);
    let decided = decided.decide(store, |_| -> Result<Event, Error> { Ok(tagged("a")) });
    let decided = timeout(TIMEOUT, decided).await.expect("it ends");
    decided.expect_err("an error")
}

fn assert_no_answer(failed: &Error) {
    let Error::Fault(Fault::Unreachable(reason)) = failed else {
        panic!("{failed:?}");
    };
    let source = std::error::Error::source(reason).expect("a source");
    let cause: &ConnectError = source.downcast_ref().expect("a cause");
    let expected = [ConnectErrorKind::Refused, ConnectErrorKind::NotAnswered];
    assert!(expected.contains(&cause.kind()), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_keeps_its_limit_if_the_server_is_silent() {
    let mut log = fresh_log().await;
    let proxy = SessionProxy::start(&log.url).await;
    log.url = proxy.url().to_owned();
    (log.read_timeout, log.write_timeout) = (LONG, LONG);
    let store = connect(&log).await;
    proxy.silence_new(true);
    proxy.silence();
    assert_no_answer(&decide(&store, LIMIT).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_fail_at_once_during_an_outage_if_the_store_shall() {
    let server = private_server(Durability::Relaxed, &[]).await;
    let mut log = log_on(server.url());
    (log.read_timeout, log.write_timeout) = (LONG, LONG);
    let patient = connect(&log).await;
    let store = connect(&log.fail_fast()).await;
    server.kill_hard().unwrap();
    assert_no_answer(&decide(&patient, LIMIT).await);
    for _ in 0..50 {
        assert_no_answer(&decide(&store, LONG).await);
    }
}

/// The append of a decision waits for a lock.
#[tokio::test(flavor = "multi_thread")]
async fn append_of_a_decision_keeps_the_limit_of_the_decision() {
    let mut log = fresh_log().await;
    log.write_timeout = 10 * LIMIT;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let _lock = LogLock::take(&log).await;
    let failed = decide(&store, LIMIT).await;
    assert!(
        matches!(
            failed,
            Error::Fault(Fault::TimedOut {
                operation: "decide",
                limit: LIMIT
            })
        ),
        "{failed}"
    );
}
