//! The errors that callers may get during a failover. Any other error fails the test.

use dcb_core::{Error as EventError, Fault};
use message_store::Error as MessageError;

use super::seats::Refusal;

/// The answer to a caller whose decision depends on lost events. Only a failover with a loss explains it.
pub(super) const PAST_IS_LOST: &str = "past is lost";

pub(super) fn of_events(error: &EventError) -> &'static str {
    use EventError::{
        AfterBeyondHead, Conflict, Fault, OutcomeUnknown, PastReplaced, RetriesExhausted,
    };
    match error {
        Conflict { .. } => "conflict",
        OutcomeUnknown { .. } => "outcome unknown",
        RetriesExhausted { .. } => "retries exhausted",
        Fault(fault) => of_fault(fault),
        AfterBeyondHead { .. } | PastReplaced { .. } => PAST_IS_LOST,
        _ => panic!("a caller was told: {error:?}"),
    }
}

fn of_fault(fault: &Fault) -> &'static str {
    match fault {
        Fault::ReadOnly(_) => "read only",
        Fault::TimedOut { .. } => "timeout",
        Fault::Unreachable(_) => "unavailable",
        _ => panic!("a caller was told: {fault:?}"),
    }
}

pub(super) fn of_enrollment(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Store(error) => of_events(error),
        Refusal::Rule => "refused",
    }
}

pub(super) fn of_messages(error: &MessageError) -> &'static str {
    use MessageError::{Fault, OutcomeUnknown, WrongExpectedVersion};
    match error {
        WrongExpectedVersion { .. } => "message: wrong version",
        OutcomeUnknown { .. } => "message: outcome unknown",
        Fault(fault) => of_fault(fault),
        _ => panic!("a caller was told: {error:?}"),
    }
}
