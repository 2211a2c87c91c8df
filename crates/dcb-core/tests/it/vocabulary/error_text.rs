//! The messages of the errors.

use std::sync::Arc;
use std::time::Duration;

use dcb_core::{Error, Event, Fault, Position, Problem, Reason};
use uuid::Uuid;

fn at(number: u64) -> Position {
    Position::new(number).unwrap()
}

fn text(text: &str) -> Arc<dyn std::error::Error + Send + Sync> {
    Box::<dyn std::error::Error + Send + Sync>::from(text).into()
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
        Error::Conflict {
            position: at(12),
            condition: 1,
        },
        Error::AfterBeyondHead {
            after: at(12),
            head: Some(at(11)),
        },
        Error::AfterBeyondHead {
            after: at(12),
            head: None,
        },
        Error::PastReplaced { position: at(12) },
        Error::DuplicateId { id },
        Error::AlreadyTracked {
            origin: "upstream".to_owned(),
            tracked: 4,
        },
        Error::CheckpointMoved {
            name: "seats".to_owned(),
            expected: None,
            actual: Some(at(12).into()),
        },
        Error::Handler {
            name: "seats".to_owned(),
            source: text("no such course"),
        },
        Error::NotOneKey {
            position: at(12),
            found: 0,
        },
        Error::Superseded {
            name: "seats".to_owned(),
            version: 1,
        },
        Error::TooManyProjections { max: 5, current: 5 },
        Error::RetriesExhausted {
            attempts: 10,
            position: at(12),
        },
        Error::Fault(Fault::TimedOut {
            operation: "append",
            limit: Duration::from_secs(5),
        }),
        Error::OutcomeUnknown { ids: vec![id] },
        Error::OutcomeUnknown { ids: Vec::new() },
        Error::Fault(Fault::Closed),
        Error::Fault(Fault::Unreachable(Reason::new("connection refused"))),
        Error::Fault(Fault::ReadOnly(Reason::new(
            "cannot execute INSERT in a read-only transaction",
        ))),
        Error::Fault(Fault::FeatureDisabled { feature: "sqlite" }),
        Error::Fault(Fault::SchemaChanged {
            schema: "dcb".to_owned(),
            differences: vec![
                "no table events".to_owned(),
                "no index event_tags".to_owned(),
            ],
        }),
        Error::Fault(Fault::DiskFull(Reason::new("database or disk is full"))),
        Error::Fault(Fault::FileMoved {
            path: "log.db".into(),
        }),
        Error::Fault(Fault::ReadOnlyFile {
            path: "log.db".into(),
            reason: "the system allows only reads of the file".into(),
        }),
        Error::KeysMissing {
            log: "dcb".to_owned(),
            missing: "the event at position 1 has no keys in dcb.event_tag".to_owned(),
            remedy: "dcb_core::postgres::rebuild_keys",
        },
        Error::Fault(Fault::SchemaTooNew {
            schema: "dcb".to_owned(),
            found: 3,
            supported: 2,
        }),
        Error::Json {
            source: text("expected value"),
        },
        Error::Unreadable {
            position: at(12),
            event_type: "Named".into(),
            source: text("missing field"),
        },
        Error::Upcast {
            position: at(12),
            event_type: "Named".into(),
            version: 1,
            source: text("missing field"),
        },
        Error::VersionTooNew {
            position: at(12),
            event_type: "Named".into(),
            found: 3,
            supported: 2,
        },
        Error::Import {
            entry: "line 7".to_owned(),
            source: text("missing field"),
        },
        Error::Io {
            source: Arc::new(std::io::Error::other("disk full")),
        },
        Error::Fault(Fault::Refused(Reason::new("disk full").with_code("53100"))),
        Error::Fault(Fault::Refused(Reason::new("protocol error"))),
        Error::Fault(Fault::Panicked),
    ];
    let messages: Vec<String> = errors
        .iter()
        .map(|error| error.to_string() + "\n")
        .collect();
    assert_eq!(messages.concat(), include_str!("../../golden/errors.txt"));
}

#[test]
fn errors_have_their_cause_as_source() {
    let event = Event::builder("A").data("{").build().unwrap();
    let failed = event.json::<u64>().unwrap_err();
    let source = std::error::Error::source(&failed).unwrap();
    assert!(failed.to_string().ends_with(&source.to_string()));
    let Error::Json { source } = &failed else {
        panic!("{failed:?}")
    };
    assert!(source.downcast_ref::<serde_json::Error>().is_some());
}
