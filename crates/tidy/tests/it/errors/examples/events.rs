use std::io;
use std::sync::Arc;

use dcb_core::{Error, Fault, Position, Problem};
use uuid::Uuid;

use super::{Example, source};

pub(super) fn all() -> Vec<Example> {
    let errors = errors().into_iter().map(|error| {
        let is_transient = Some(error.is_transient());
        Example::new("dcb_core::Error", &error, is_transient)
    });
    errors.collect()
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
    ]
}

fn failures() -> Vec<Error> {
    vec![Error::OutcomeUnknown {
        ids: vec![Uuid::from_u128(7)],
    }]
}

fn of_the_file_or_schema() -> Vec<Error> {
    vec![Error::KeysMissing {
        log: "dcb".to_owned(),
        missing: "the event at position 1 has no keys in dcb.event_tag".to_owned(),
        remedy: "dcb_core::postgres::rebuild_keys",
    }]
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
        Error::Fault(Fault::Closed),
    ]
}
