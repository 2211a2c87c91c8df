//! Maps errors of the message store to those of the interface.

use axum::http::StatusCode;
use message_store::{Error, Fault, GlobalPosition, Position};
use serde_json::json;

use crate::error::ApiError;

const STORE: &str = "message store";

impl From<Error> for ApiError {
    fn from(failed: Error) -> Self {
        let message = failed.to_string();
        match failed {
        Error::Invalid { field, problem } => {
            let field = camel_case(&field);
            ApiError::invalid_field(&field, format!("{field} {problem}"))
        }
        Error::WrongExpectedVersion {
            expected, actual, ..
        } => {
            let actual = Position::number_or_minus_one(actual);
            let message = format!("expected version {expected}, but the stream is at {actual}");
            let details = json!({ "expected": expected.number(), "actual": actual });
            conflict("STREAM_VERSION_CONFLICT", message).with_details(details)
        }
        Error::DuplicateId { id } => {
            conflict("MESSAGE_ID_CONFLICT", message).with_details(json!({ "id": id }))
        }
        Error::PastReplaced { position } => {
            conflict("PAST_REPLACED", message).with_details(json!({ "after": position.get() }))
        }
        Error::AfterBeyondHead { after, head } => {
            let head = head.map_or(0, GlobalPosition::get);
            let details = json!({ "after": after.get(), "head": head });
            conflict("AFTER_BEYOND_HEAD", message).with_details(details)
        }
        Error::ImportConflict {
            global_position, ..
        } => conflict("POSITION_EXISTS", message)
            .with_details(json!({ "globalPosition": global_position.get() })),
        Error::Import { line, .. } => {
            ApiError::invalid(message).with_details(json!({ "line": line }))
        }
        Error::NamespaceExists { name } => {
            conflict("NAMESPACE_EXISTS", message).with_details(json!({ "namespace": name }))
        }
        Error::NamespaceNotFound { name } => {
            not_found(message).with_details(json!({ "namespace": name }))
        }
        Error::TooManyNamespaces { .. } => backend_error(&message, &message),
        // Deleting a namespace closes its store, even while requests are using it.
        Error::Fault(Fault::Closed) => not_found("the namespace was deleted"),
        Error::OutcomeUnknown { ids } => backend_error(
            &message,
            "it is unknown whether the messages were stored: write them again with the same ids",
        )
        .with_details(json!({ "ids": ids })),
        Error::Fault(fault) => of_fault(&fault),
        _ => backend_error(&message, "internal error; see the server's log"),
    }
    }
}

/// The interface has one status for failures of a store, except that it can't write. `Retry-After` tells
/// which may pass.
fn of_fault(fault: &Fault) -> ApiError {
    let shown = ApiError::fault(STORE, fault);
    match fault {
        Fault::DiskFull(_) | Fault::ReadOnly(_) | Fault::ReadOnlyFile { .. } => shown,
        _ => ApiError {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            code: "BACKEND_ERROR",
            ..shown
        },
    }
}

fn conflict(code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, code, message)
}

fn not_found(message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "NAMESPACE_NOT_FOUND", message)
}

/// 500 `BACKEND_ERROR`. The reason may contain SQL or paths, so it goes to the log only.
fn backend_error(reason: &str, message: &str) -> ApiError {
    tracing::error!(reason, "a request to the message store failed");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "BACKEND_ERROR", message)
}

/// The field's name in the interface: `expected_version` becomes `expectedVersion`.
fn camel_case(field: &str) -> String {
    let mut name = String::with_capacity(field.len());
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        match character {
            '_' => name.extend(characters.next().map(|next| next.to_ascii_uppercase())),
            _ => name.push(character),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use message_store::Reason;

    use super::*;

    #[test]
    fn field_names_become_camel_case() {
        assert_eq!(camel_case("stream"), "stream");
        assert_eq!(camel_case("expected_version"), "expectedVersion");
        assert_eq!(camel_case("consumer_group.size"), "consumerGroup.size");
    }

    #[test]
    fn database_error_text_is_not_shown() {
        let reason = Reason::new("SELECT secret FROM /var/lib");
        let failed = Error::from(Fault::Refused(reason));
        let shown = ApiError::from(failed);
        assert_eq!(shown.code, "BACKEND_ERROR");
        assert_eq!(shown.message, "internal error; see the server's log");
        assert!(shown.details.is_none());
    }

    #[test]
    fn only_transient_errors_have_retry_after() {
        let limit = std::time::Duration::from_secs(5);
        let operation = "write";
        let reason = Reason::new("db.internal refused");
        for (failed, expected) in [
            (Fault::TimedOut { operation, limit }.into(), Some(1)),
            (Fault::Unreachable(reason.clone()).into(), Some(1)),
            (Fault::Locked(reason.clone()).into(), Some(1)),
            (Fault::Refused(reason).into(), None),
            (Error::OutcomeUnknown { ids: Vec::new() }, None),
        ] {
            let shown = ApiError::from(failed);
            assert_eq!(shown.status, StatusCode::INTERNAL_SERVER_ERROR, "{shown:?}");
            assert_eq!(shown.retry_after_s, expected, "{shown:?}");
            assert!(!shown.message.contains("db.internal"), "{shown:?}");
        }
    }

    #[test]
    fn full_disk_and_read_only_store_are_named() {
        let reason = Reason::new("cannot execute INSERT");
        let full = Error::from(Fault::DiskFull(reason.clone()));
        let read_only = Error::from(Fault::ReadOnly(reason));
        for (failed, status, code) in [
            (full, StatusCode::INSUFFICIENT_STORAGE, "DISK_FULL"),
            (read_only, StatusCode::SERVICE_UNAVAILABLE, "READ_ONLY"),
        ] {
            let shown = ApiError::from(failed);
            assert_eq!((shown.status, shown.code), (status, code), "{shown:?}");
            assert!(!shown.message.contains("INSERT"), "{shown:?}");
        }
    }

    #[test]
    fn unknown_outcome_names_the_message_ids() {
        let id = uuid::Uuid::from_u128(7);
        let shown = ApiError::from(Error::OutcomeUnknown { ids: vec![id] });
        assert_eq!(shown.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(shown.details, Some(json!({ "ids": [id] })));
    }
}
