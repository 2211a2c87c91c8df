use std::io;
use std::sync::Arc;
use std::time::Duration;

use dcb_core::{Error, Position, Problem};
use uuid::Uuid;

use super::{Example, source};

pub(super) fn all() -> Vec<Example> {
    let errors = errors().into_iter().map(|error| {
        let is_transient = Some(error.is_transient());
        Example::new("dcb_core::Error", &error, is_transient)
    });
    let problems = problems()
        .into_iter()
        .map(|problem| Example::new("dcb_core::Problem", &problem, None));
    errors.chain(problems).collect()
}

fn at(number: u64) -> Position {
    Position::new(number).expect("a position")
}

fn errors() -> Vec<Error> {
    let mut errors = outcomes();
    errors.extend(failures());
    errors.extend(of_the_file_or_schema());
    errors.extend(of_data());
    errors
}

/// The outcomes of calls while everything works.
fn outcomes() -> Vec<Error> {
    vec![
        Error::Invalid {
            field: "events[3].tags".to_owned(),
            problem: Problem::Empty,
        },
        Error::Conflict {
            position: at(12),
            condition: 1,
        },
        Error::AfterBeyondHead {
            after: at(12),
            head: Some(at(11)),
        },
        Error::PastReplaced { position: at(12) },
        Error::DuplicateId {
            id: Uuid::from_u128(7),
        },
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
            source: source("no such course"),
        },
        Error::TooManyProjections { max: 5, current: 5 },
        Error::RetriesExhausted {
            attempts: 10,
            position: at(12),
        },
    ]
}

fn failures() -> Vec<Error> {
    vec![
        Error::Timeout {
            operation: "append",
            limit: Duration::from_secs(5),
        },
        Error::OutcomeUnknown {
            ids: vec![Uuid::from_u128(7)],
        },
        Error::Closed,
        Error::FeatureDisabled { feature: "sqlite" },
        Error::Unavailable {
            source: source("connection refused"),
        },
        Error::ReadOnly {
            message: "cannot execute INSERT in a read-only transaction".into(),
        },
        Error::DiskFull {
            message: "database or disk is full".into(),
        },
    ]
}

fn of_the_file_or_schema() -> Vec<Error> {
    vec![
        Error::FileMoved {
            path: "log.db".into(),
        },
        Error::ReadOnlyFile {
            path: "log.db".into(),
            reason: "the system allows only reads of the file".into(),
        },
        Error::SchemaMismatch {
            schema: "dcb".to_owned(),
            differences: vec!["table event is missing".to_owned()],
        },
        Error::KeysMissing {
            log: "dcb".to_owned(),
            missing: "the event at position 1 has no keys in dcb.event_tag".to_owned(),
            remedy: "dcb_core::postgres::rebuild_keys",
        },
        Error::SchemaTooNew {
            schema: "dcb".to_owned(),
            found: 3,
            supported: 2,
        },
    ]
}

fn of_data() -> Vec<Error> {
    vec![
        Error::Json {
            source: source("expected value"),
        },
        Error::Unreadable {
            position: at(12),
            event_type: "Named".into(),
            source: source("missing field"),
        },
        Error::Upcast {
            position: at(12),
            event_type: "Named".into(),
            version: 1,
            source: source("missing field"),
        },
        Error::VersionTooNew {
            position: at(12),
            event_type: "Named".into(),
            found: 3,
            supported: 2,
        },
        Error::Import {
            entry: "line 7".to_owned(),
            source: source("missing field"),
        },
        Error::Io {
            source: Arc::new(io::Error::other("broken pipe")),
        },
        database("55P03", "canceling statement due to lock timeout"),
        database("42501", "permission denied for table event"),
        Error::Panicked,
    ]
}

fn database(code: &str, message: &str) -> Error {
    Error::Database {
        code: Some(code.into()),
        message: message.into(),
    }
}

fn problems() -> [Problem; 8] {
    [
        Problem::Empty,
        Problem::TooLong {
            max: 64,
            actual: 65,
        },
        Problem::ContainsNul,
        Problem::TooMany {
            max: 1000,
            actual: 1001,
        },
        Problem::TooLarge {
            max: 20,
            actual: 21,
        },
        Problem::TooSmall { min: 1, actual: 0 },
        Problem::Duplicate {
            key: "k".to_owned(),
        },
        Problem::Malformed {
            reason: "no colon".to_owned(),
        },
    ]
}

/// Each SQLSTATE of these classes, and no other.
#[test]
fn sqlstates_of_conflicts_resources_and_interventions_are_transient() {
    for (code, is_transient) in [
        ("40001", true),
        ("40P01", true),
        ("53200", true),
        ("53300", true),
        ("57014", true),
        ("55P03", true),
        ("55006", false),
        ("23505", false),
        ("42P01", false),
        ("XX000", false),
    ] {
        assert_eq!(database(code, "").is_transient(), is_transient, "{code}");
        let message = message_store::Error::Database {
            code: Some(code.into()),
            message: "".into(),
        };
        assert_eq!(message.is_transient(), is_transient, "{code}");
    }
}
