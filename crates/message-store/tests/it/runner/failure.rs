//! The kinds of failures, as `?` chooses them.

use std::fmt;

use message_store::{Category, Error, Failure, Fault, MessageRunner, Reason, RecordedMessage};

use super::support::in_memory;

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
