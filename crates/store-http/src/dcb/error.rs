//! Maps errors of the event store to those of the interface.

use axum::http::StatusCode;
use dcb_core::{Error, Position};
use serde_json::{Value, json};

use crate::error::ApiError;

/// The store, as answers name it.
const STORE: &str = "event store";

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match &error {
            Error::Invalid { field, .. } => Self::invalid_field(field, message),
            Error::AfterBeyondHead { after, head } => {
                let head = Position::number_or_zero(*head);
                let details = json!({ "after": after.get(), "head": head });
                conflict("AFTER_BEYOND_HEAD", message, details)
            }
            Error::PastReplaced { position } => {
                let details = json!({ "position": position.get() });
                conflict("PAST_REPLACED", message, details)
            }
            Error::DuplicateId { id } => {
                conflict("DUPLICATE_EVENT_ID", message, json!({ "id": id }))
            }
            Error::TooManyProjections { .. } | Error::RetriesExhausted { .. } => {
                Self::overloaded(message)
            }
            Error::Fault(fault) => Self::fault(STORE, fault),
            Error::OutcomeUnknown { ids } => Self {
                details: Some(json!({ "ids": ids })),
                ..Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "OUTCOME_UNKNOWN",
                    "the outcome of the append is unknown: send the events again with these ids",
                )
            },
            _ => Self::internal(&error),
        }
    }
}

fn conflict(code: &'static str, message: String, details: Value) -> ApiError {
    ApiError {
        details: Some(details),
        ..ApiError::new(StatusCode::CONFLICT, code, message)
    }
}

/// Prefixes the field of an error with its path in the request.
pub(super) fn within(path: &str, error: Error) -> ApiError {
    match error {
        Error::Invalid { field, problem } => {
            let field = format!("{path}.{field}");
            ApiError::invalid_field(&field, format!("{field} {problem}"))
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use dcb_core::{Fault, Reason};

    use super::*;

    #[test]
    fn retryable_errors_answer_503_with_retry_after() {
        let limit = std::time::Duration::from_secs(5);
        let reason = Reason::new("host=db.internal refused");
        for error in [
            Fault::TimedOut {
                operation: "append",
                limit,
            }
            .into(),
            Error::TooManyProjections { max: 1, current: 1 },
            Error::RetriesExhausted {
                attempts: 10,
                position: Position::FIRST,
            },
            Fault::Locked(reason.clone()).into(),
            Fault::Aborted(reason.clone()).into(),
            Fault::Unreachable(reason.clone()).into(),
            Fault::ReadOnly(reason).into(),
            Fault::Closed.into(),
        ] {
            let answer = ApiError::from(error);
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{answer:?}");
            assert_eq!(answer.retry_after_s, Some(1), "{answer:?}");
            assert!(!answer.message.contains("db.internal"), "{answer:?}");
        }
    }

    #[test]
    fn database_error_text_is_not_shown() {
        let answer = ApiError::from(Error::from(Fault::Refused(Reason::new(
            "relation \"dcb.event\" does not exist",
        ))));
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(answer.message, "internal error; see the server's log");
    }

    #[test]
    fn unknown_outcome_names_the_event_ids() {
        let ids = vec![uuid::Uuid::from_u128(1)];
        let answer = ApiError::from(Error::OutcomeUnknown { ids: ids.clone() });
        assert_eq!(answer.code, "OUTCOME_UNKNOWN");
        assert_eq!(answer.details, Some(json!({ "ids": ids })));
    }
}
