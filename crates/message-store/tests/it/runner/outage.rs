//! The store of a runner goes away under load, and comes back.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use local_postgres::Options;
use message_store::postgres::Config;
use message_store::sqlite::{self, SqliteStore};
use message_store::{
    ExpectedVersion, Failure, MessageRunner, MessageStore, RecordedMessage, StreamWrite,
    write_until_known,
};
use tokio::sync::oneshot;

use super::cases::{derived, number, without_repeats};
use super::support::{Seen, quick};
use crate::support::postgres::{connect, separate_server};
use crate::support::{category, message, stream_name, wait_until, whole_stream};

/// The future of a handler, boxed because its type has no name.
type Answer = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// A handler that answers each message with one that it writes to the same store.
fn answering<S: MessageStore + Clone + 'static>(
    store: S,
    seen: Seen,
) -> impl FnMut(RecordedMessage) -> Answer {
    move |message| {
        let (store, seen) = (store.clone(), seen.clone());
        Box::pin(async move {
            let answer = crate::support::message(seen.note(&message)).with_id(derived(&message));
            let stream = stream_name("answer-1");
            store
                .write_message(&stream, answer, ExpectedVersion::Any)
                .await?;
            Ok(())
        })
    }
}

/// Writes numbers, through outages, until told to stop. Returns how many.
async fn write_until(store: impl MessageStore, enough: Arc<AtomicBool>) -> u64 {
    let mut number = 0;
    while !enough.load(Ordering::SeqCst) {
        let write = StreamWrite::new(stream_name("a-1"), message(number));
        let written = write_until_known(&store, vec![write], Duration::from_secs(60)).await;
        written.expect("the store comes back");
        number += 1;
    }
    number
}

#[tokio::test(flavor = "multi_thread")]
async fn runner_goes_on_after_an_outage_of_postgres() {
    let server = separate_server(Options::default()).await;
    let mut config = Config::new(server.url());
    config.write_timeout = Duration::from_secs(1);
    config.read_timeout = Duration::from_secs(1);
    let store = connect(config).await;
    let (seen, enough) = (Seen::default(), Arc::new(AtomicBool::new(false)));
    let handler = answering(store.clone(), seen.clone());
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(1));
    let progress = runner.progress();
    let (stop, signal) = oneshot::channel::<()>();
    let running = tokio::spawn(async move { runner.run_until(signal).await });
    let writing = tokio::spawn(write_until(store.clone(), Arc::clone(&enough)));
    for _ in 0..2 {
        let handled = progress.handled();
        wait_until("messages are handled", async || {
            progress.handled() > handled + 20
        })
        .await;
        server.kill_hard().unwrap();
        wait_until("the outage shows", async || progress.outage().is_some()).await;
        server.restart().await.unwrap();
        wait_until("the outage is over", async || progress.outage().is_none()).await;
    }
    enough.store(true, Ordering::SeqCst);
    let written: Vec<u64> = (0..writing.await.unwrap()).collect();
    wait_until("all are handled", async || {
        progress.lag() == 0 && without_repeats(seen.numbers()).len() == written.len()
    })
    .await;
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();

    assert_eq!(without_repeats(seen.numbers()), written);
    assert_eq!(
        progress.poisoned(),
        0,
        "no message is to blame for the outage"
    );
    let answers = whole_stream(&store, "answer-1").await;
    let answers: Vec<u64> = answers
        .iter()
        .map(|answer| answer.data().unwrap())
        .collect();
    assert_eq!(answers, written, "each answer is there once");
    let last = whole_stream(&store, "a-1").await.pop().unwrap();
    assert_eq!(
        store.checkpoint("a-c").await.unwrap(),
        Some(last.bookmark())
    );
    store.close().await;
}

/// Another program holds the file's lock for longer than the store waits.
#[tokio::test(flavor = "multi_thread")]
async fn runner_waits_for_a_locked_sqlite_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let mut config = sqlite::Config::file(&path);
    config.write_timeout = Duration::from_millis(50);
    let store = SqliteStore::open(config).await.unwrap();
    for number in 0..5 {
        crate::support::write(&store, "a-1", number).await;
    }
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let seen = Seen::default();
    let handler = answering(store.clone(), seen.clone());
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(1));
    let progress = runner.progress();
    let running = tokio::spawn(async move { runner.catch_up().await });
    wait_until("the outage shows", async || progress.outage().is_some()).await;
    assert_eq!((progress.handled(), number(progress.position())), (0, 0));
    other.execute_batch("ROLLBACK").unwrap();
    running.await.unwrap().unwrap();
    assert!(progress.outage().is_none());
    assert_eq!((progress.handled(), progress.poisoned()), (5, 0));
    assert_eq!(whole_stream(&store, "answer-1").await.len(), 5);
    store.close().await;
}
