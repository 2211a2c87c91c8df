//! The kinds of failures, as `?` chooses them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use message_store::{
    Category, Error, ExpectedVersion, Failure, Fault, MessageRunner, MessageStore as _, Reason,
    RecordedMessage,
};
use tokio::sync::oneshot;

use super::support::{in_memory, quick};
use crate::support::{category, message, stream_name, wait_until};

/// A service's own error around one of the store.
#[derive(Debug)]
struct Wrapped(Error);

impl fmt::Display for Wrapped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the invoice was not written")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

fn is_outage(failure: &Failure) -> bool {
    matches!(failure, Failure::Outage(_))
}

#[test]
fn errors_of_a_store_that_may_pass_are_outages() {
    let unavailable = Error::Fault(Fault::Unreachable(Reason::new("refused")));
    let unknown = Error::OutcomeUnknown { ids: Vec::new() };
    for error in [unavailable, unknown, Error::Fault(Fault::Closed)] {
        assert!(is_outage(&error.clone().into()), "{error:?}");
        assert!(is_outage(&Wrapped(error.clone()).into()), "{error:?}");
    }
    assert!(!is_outage(&Error::Fault(Fault::Panicked).into()));
    assert!(!is_outage(
        &std::io::Error::other("no such customer").into()
    ));
    assert!(!is_outage(&"no such customer".into()));
}

#[tokio::test]
async fn name_of_a_consumer_must_fit_its_streams() {
    let ((), store) = in_memory().await;
    for name in ["x".repeat(2000), "a\0b".to_owned()] {
        let handler = |_: RecordedMessage| async { Ok::<(), Failure>(()) };
        let refused = MessageRunner::new(store.clone(), name, Category::all(), handler).map(drop);
        assert!(
            matches!(&refused, Err(Error::Invalid { field, .. }) if field == "consumer"),
            "{refused:?}"
        );
    }
}

/// The error of another store, which `dcb-core` is for this crate.
#[derive(Debug)]
struct OfAnotherStore(Fault);

impl fmt::Display for OfAnotherStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for OfAnotherStore {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// The runner knew the errors of its own store only, so an outage of the other one sent messages to the
/// poison stream.
#[tokio::test]
async fn message_waits_for_another_store_that_is_down() {
    let ((), store) = in_memory().await;
    let stream = stream_name("a-1");
    let written = store.write_message(&stream, message(1), ExpectedVersion::Any);
    written.await.unwrap();
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let handler = move |_: RecordedMessage| {
        let is_up = counted.fetch_add(1, Ordering::Relaxed) >= 5;
        async move {
            match is_up {
                true => Ok(()),
                false => Err(OfAnotherStore(Fault::Locked(Reason::new("busy"))))?,
            }
        }
    };
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().max_tries(2));
    let progress = runner.progress();
    let (stop, signal) = oneshot::channel::<()>();
    let running = tokio::spawn(async move { runner.run_until(signal).await });
    wait_until("the message is handled", async || progress.handled() == 1).await;
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert_eq!(tries.load(Ordering::Relaxed), 6);
    assert_eq!(progress.poisoned(), 0);
}
