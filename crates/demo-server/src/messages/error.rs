//! Maps errors of the message store to those of the interface.

use axum::http::StatusCode;
use message_store::{Error, GlobalPosition, Position};
use serde_json::json;

use crate::error::ApiError;
use crate::health::{Cause, Refusal as _};

const STORE: &str = "message store";

impl From<Error> for ApiError {
    fn from(failed: Error) -> Self {
        match failed.cause() {
            Some(Cause::DiskFull) => return Self::disk_full(STORE, &failed),
            Some(Cause::ReadOnly) => return Self::read_only(STORE, &failed),
            _ => {}
        }
        // The interface has one status for all failures of a store. The header tells which may pass.
        let retry_after_s = failed.is_transient().then_some(1);
        Self {
            retry_after_s,
            ..answer(failed)
        }
    }
}

fn answer(failed: Error) -> ApiError {
    let message = failed.to_string();
    let is_transient = failed.is_transient();
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
        // Deleting a namespace closes its store, even while requests are using it.
        Error::Closed => not_found("the namespace was deleted"),
        Error::OutcomeUnknown { ids } => backend_error(
            &message,
            "it is unknown whether the messages were stored: write them again with the same ids",
        )
        .with_details(json!({ "ids": ids })),
        Error::Timeout { .. } => backend_error(
            &message,
            "the store timed out: nothing was written, try again",
        ),
        Error::Unavailable { .. } => backend_error(
            &message,
            "the store is unreachable: nothing was written, try again",
        ),
        _ if is_transient => backend_error(
            &message,
            "the store is busy: nothing was written, try again",
        ),
        _ => backend_error(&message, "internal error; see the server's log"),
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
    use super::*;

    #[test]
    fn field_names_become_camel_case() {
        assert_eq!(camel_case("stream"), "stream");
        assert_eq!(camel_case("expected_version"), "expectedVersion");
        assert_eq!(camel_case("consumer_group.size"), "consumerGroup.size");
    }

    #[test]
    fn database_error_text_is_not_shown() {
        let failed = Error::Database {
            code: Some("42P01".into()),
            message: "SELECT secret FROM /var/lib".into(),
        };
        let shown = ApiError::from(failed);
        assert_eq!(shown.code, "BACKEND_ERROR");
        assert_eq!(shown.message, "internal error; see the server's log");
        assert!(shown.details.is_none());
    }

    #[test]
    fn only_transient_errors_have_retry_after() {
        let limit = std::time::Duration::from_secs(5);
        let source = std::sync::Arc::new(std::io::Error::other("db.internal refused"));
        let database = |code: &str| Error::Database {
            code: Some(code.into()),
            message: "on db.internal".into(),
        };
        for (failed, expected) in [
            (
                Error::Timeout {
                    operation: "write",
                    limit,
                },
                Some(1),
            ),
            (Error::Unavailable { source }, Some(1)),
            (database("55P03"), Some(1)),
            (database("42P01"), None),
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
        let full = Error::DiskFull {
            message: "could not extend file".into(),
        };
        let read_only = Error::ReadOnly {
            message: "cannot execute INSERT".into(),
        };
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
