use std::time::Duration;

use store_fault::{Fault, Problem, Reason};

use super::Example;

pub(super) fn all() -> Vec<Example> {
    let faults = faults().into_iter().map(|fault| {
        let is_transient = Some(fault.is_transient());
        Example::new("store_fault::Fault", &fault, is_transient)
    });
    let reason = Reason::new("permission denied for table event").with_code("42501");
    let problems = problems();
    let problems = problems.iter();
    let problems = problems.map(|problem| Example::new("store_fault::Problem", problem, None));
    faults
        .chain([Example::new("store_fault::Reason", &reason, None)])
        .chain(problems)
        .collect()
}

fn problems() -> [Problem; 9] {
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
        Problem::TooManyDigits,
        Problem::Duplicate {
            key: "k".to_owned(),
        },
        Problem::malformed("no colon"),
    ]
}

fn faults() -> Vec<Fault> {
    let said = |message: &str, code: &str| Reason::new(message).with_code(code);
    vec![
        Fault::Unreachable(Reason::new("127.0.0.1:5432 refused the connection")),
        Fault::ReadOnly(said(
            "cannot execute INSERT in a read-only transaction",
            "25006",
        )),
        Fault::ReadOnlyFile {
            path: "log.db".into(),
            reason: "the system allows only reads of the file".into(),
        },
        Fault::DiskFull(said("database or disk is full", "SQLITE_FULL")),
        Fault::FileFailed(said("disk I/O error", "SQLITE_IOERR")),
        Fault::FileMoved {
            path: "log.db".into(),
        },
        Fault::NotADatabase(said("file is not a database", "SQLITE_NOTADB")),
        Fault::TimedOut {
            operation: "append",
            limit: Duration::from_secs(5),
        },
        Fault::Locked(said("canceling statement due to lock timeout", "55P03")),
        Fault::Aborted(said("deadlock detected", "40P01")),
        Fault::Refused(said("permission denied for table event", "42501")),
        Fault::SchemaChanged {
            schema: "dcb".to_owned(),
            differences: vec!["table event is missing".to_owned()],
        },
        Fault::SchemaTooNew {
            schema: "dcb".to_owned(),
            found: 3,
            supported: 2,
        },
        Fault::Closed,
        Fault::FeatureDisabled { feature: "sqlite" },
        Fault::Panicked,
    ]
}
