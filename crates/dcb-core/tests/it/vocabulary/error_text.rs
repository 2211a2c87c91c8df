//! The messages of the errors.

use std::time::Duration;

use dcb_core::{Error, Position, Problem};
use uuid::Uuid;

fn at(number: u64) -> Position {
    Position::new(number).unwrap()
}

fn invalid(problem: Problem) -> Error {
    Error::Invalid {
        field: "events[3].tags".to_owned(),
        problem,
    }
}

#[test]
fn error_messages_match_the_golden_file() {
    let id = Uuid::from_u128(7);
    let errors = [
        invalid(Problem::Empty),
        invalid(Problem::TooLong {
            max: 64,
            actual: 65,
        }),
        invalid(Problem::ContainsNul),
        invalid(Problem::TooMany {
            max: 1000,
            actual: 1001,
        }),
        invalid(Problem::TooLarge {
            max: 20,
            actual: 21,
        }),
        invalid(Problem::TooSmall { min: 1, actual: 0 }),
        invalid(Problem::Duplicate {
            key: "k".to_owned(),
        }),
        invalid(Problem::Malformed {
            reason: "no colon".to_owned(),
        }),
        Error::Conflict { position: at(12) },
        Error::AfterBeyondHead {
            after: at(12),
            head: Some(at(11)),
        },
        Error::AfterBeyondHead {
            after: at(12),
            head: None,
        },
        Error::DuplicateEventId { id },
        Error::AlreadyTracked {
            origin: "upstream".to_owned(),
            tracked: 4,
        },
        Error::CheckpointMoved {
            name: "seats".to_owned(),
            expected: None,
            actual: Some(at(12)),
        },
        Error::Handler {
            name: "seats".to_owned(),
            source: Box::<dyn std::error::Error + Send + Sync>::from("no such course").into(),
        },
        Error::TooManyProjections { max: 5, current: 5 },
        Error::RetriesExhausted {
            attempts: 10,
            position: at(12),
        },
        Error::Timeout {
            operation: "append",
            limit: Duration::from_secs(5),
        },
        Error::OutcomeUnknown { ids: vec![id] },
        Error::Closed,
        Error::Unavailable {
            reason: "connection refused".into(),
        },
        Error::SchemaMismatch {
            schema: "dcb".to_owned(),
            differences: vec![
                "no table events".to_owned(),
                "no index event_tags".to_owned(),
            ],
        },
        Error::SchemaTooNew {
            schema: "dcb".to_owned(),
            found: 3,
            supported: 2,
        },
        Error::Json {
            reason: "expected value".into(),
        },
        Error::Upcast {
            position: at(12),
            event_type: "Named".into(),
            version: 1,
            reason: "missing field".into(),
        },
        Error::VersionTooNew {
            position: at(12),
            event_type: "Named".into(),
            found: 3,
            supported: 2,
        },
        Error::Import {
            entry: "line 7".to_owned(),
            reason: "missing field".into(),
        },
        Error::Io {
            reason: "disk full".into(),
        },
        Error::Database {
            code: Some("53100".into()),
            message: "disk full".into(),
        },
        Error::Database {
            code: None,
            message: "protocol error".into(),
        },
        Error::Panicked,
    ];
    let messages: Vec<String> = errors
        .iter()
        .map(|error| error.to_string() + "\n")
        .collect();
    assert_eq!(messages.concat(), include_str!("../../golden/errors.txt"));
}
