use std::io;
use std::sync::Arc;

use message_store::{Error, ExpectedVersion, Fault, GlobalPosition, Position, Problem};
use uuid::Uuid;

use super::{Example, source};

pub(super) fn all() -> Vec<Example> {
    let errors = errors().into_iter().map(|error| {
        let is_transient = Some(error.is_transient());
        Example::new("message_store::Error", &error, is_transient)
    });
    errors.collect()
}

fn errors() -> Vec<Error> {
    let mut errors = outcomes();
    errors.extend(failures());
    errors.extend(of_the_file_or_schema());
    errors
}

/// The outcomes of calls while everything works.
fn outcomes() -> Vec<Error> {
    vec![
        Error::Invalid {
            field: "stream".to_owned(),
            problem: Problem::Empty,
        },
        Error::WrongExpectedVersion {
            stream: "account-1".to_owned(),
            expected: ExpectedVersion::NoStream,
            actual: Some(Position::new(4)),
        },
        Error::DuplicateId {
            id: Uuid::from_u128(7),
        },
        Error::PastReplaced {
            position: GlobalPosition::new(12),
        },
        Error::AfterBeyondHead {
            after: GlobalPosition::new(12),
            head: Some(GlobalPosition::new(11)),
        },
        Error::ImportConflict {
            global_position: GlobalPosition::new(7),
            reason: "the store is at 9".into(),
        },
        Error::Import {
            line: 7,
            source: source("missing field"),
        },
        Error::Handler {
            consumer: "invoices".to_owned(),
            stream: "order-7".to_owned(),
            global_position: GlobalPosition::new(12),
            source: source("no such customer"),
        },
        Error::NamespaceExists {
            name: "tenant".to_owned(),
        },
        Error::NamespaceNotFound {
            name: "tenant".to_owned(),
        },
        Error::TooManyNamespaces { open: 200 },
    ]
}

fn failures() -> Vec<Error> {
    vec![Error::OutcomeUnknown {
        ids: vec![Uuid::from_u128(7)],
    }]
}

fn of_the_file_or_schema() -> Vec<Error> {
    vec![
        Error::ColumnsDiffer {
            global_position: GlobalPosition::new(12),
            remedy: "message_store::sqlite::rebuild_columns",
        },
        Error::ForeignSchema {
            schema: "message_store".to_owned(),
        },
        Error::SequenceBehind {
            schema: "message_store".to_owned(),
        },
        Error::Json {
            source: source("expected value"),
        },
        Error::Io {
            source: Arc::new(io::Error::other("broken pipe")),
        },
        Error::Fault(Fault::Closed),
    ]
}
