use std::io;
use std::sync::Arc;
use std::time::Duration;

use tsdb::promql::QueryError;
use tsdb::storage::StorageFailure;
use tsdb::wire::{Fault, PointError, otlp, remote_write};
use tsdb::{Error, LabelError, Labels};

use super::Example;

pub(super) fn all() -> Vec<Example> {
    let errors = errors().into_iter().map(|error| {
        let is_transient = Some(error.is_transient());
        Example::new("tsdb::Error", &error, is_transient)
    });
    let queries = query_errors().into_iter().map(|error| {
        let is_transient = Some(error.is_transient());
        Example::new("promql_engine::QueryError", &error, is_transient)
    });
    let labels = label_errors().into_iter();
    let labels = labels.map(|error| Example::new("series_model::LabelError", &error, None));
    let all = errors.chain(queries).chain(labels);
    all.chain(of_the_wire()).collect()
}

fn labels() -> Labels {
    Labels::new("up", [("host", "web-1")]).expect("labels")
}

fn failure(kind: io::ErrorKind) -> StorageFailure {
    StorageFailure {
        action: "write",
        file: "00000001.wal".to_owned(),
        cause: Arc::new(kind.into()),
    }
}

fn errors() -> Vec<Error> {
    let mut errors = Vec::from(of_labels());
    errors.extend(of_limits_and_samples());
    errors.extend(of_files());
    errors
}

fn label_errors() -> [LabelError; 4] {
    [
        LabelError::EmptyName,
        LabelError::Duplicate {
            name: "host".to_owned(),
        },
        LabelError::TooLong {
            name: "host".to_owned(),
            max: 1024,
            actual: 2000,
        },
        LabelError::Pattern {
            pattern: "(".to_owned(),
            reason: "unclosed group".to_owned(),
        },
    ]
}

fn of_labels() -> [Error; 3] {
    [
        Error::Label(LabelError::EmptyName),
        Error::TooManyLabels {
            max: 64,
            actual: 65,
        },
        Error::MissingMetric { labels: labels() },
    ]
}

fn of_limits_and_samples() -> [Error; 7] {
    [
        Error::TooManySeries { max: 1000 },
        Error::TooManyNewSeries {
            max: 100,
            interval: Duration::from_secs(60),
            retry_after: Duration::from_secs(20),
        },
        Error::MemoryFull {
            max: 1000,
            used: 1001,
        },
        Error::OutOfOrder {
            timestamp_ms: 5,
            oldest_ms: 6,
        },
        Error::BeyondRetention {
            timestamp_ms: 5,
            oldest_ms: 6,
        },
        Error::DuplicateTimestamp { timestamp_ms: 5 },
        Error::Withheld,
    ]
}

fn of_files() -> [Error; 7] {
    [
        Error::DiskFull(failure(io::ErrorKind::StorageFull)),
        Error::Storage(failure(io::ErrorKind::PermissionDenied)),
        Error::NotDurable(failure(io::ErrorKind::StorageFull)),
        Error::Corrupt {
            file: "00000001.wal".to_owned(),
            offset: 4096,
            reason: "checksum differs",
        },
        Error::FormatTooNew {
            file: "00000001.wal".to_owned(),
            version: 3,
            supported: 2,
        },
        Error::FolderInUse {
            path: "series".into(),
        },
        Error::Closed,
    ]
}

fn query_errors() -> [QueryError; 15] {
    [
        QueryError::Syntax {
            reason: "unexpected end of input".to_owned(),
        },
        QueryError::Unsupported {
            what: "the function absent_over_space".to_owned(),
        },
        QueryError::TooLarge {
            max: 10_000,
            unit: "bytes",
        },
        QueryError::EndBeforeStart,
        QueryError::StepNotPositive,
        QueryError::TooManySteps {
            max: 11_000,
            actual: 11_001,
        },
        QueryError::TooManySamples { max: 1000 },
        QueryError::Timeout {
            limit: Duration::from_secs(30),
        },
        QueryError::Stopped,
        QueryError::SameLabels { labels: labels() },
        QueryError::ManyMatches {
            side: "right",
            labels: labels(),
        },
        QueryError::ConflictingInfo { target: labels() },
        QueryError::Parameter {
            function: "quantile",
            parameter: "phi",
            reason: "it is not a number".to_owned(),
        },
        QueryError::Label(LabelError::EmptyName),
        QueryError::Storage(io::Error::from(io::ErrorKind::TimedOut).into()),
    ]
}

fn of_the_wire() -> Vec<Example> {
    let form = || Fault::Form("no number".to_owned());
    let faults = [form(), Fault::Engine(Error::Withheld)];
    let point = PointError {
        index: 0,
        fault: form(),
    };
    let full = remote_write::QueueFull {
        max: 1000,
        queued: 990,
    };
    let malformed = otlp::Malformed {
        reason: "unexpected end".to_owned(),
    };
    let storage = failure(io::ErrorKind::PermissionDenied);
    let mut examples = vec![
        Example::new("tsdb::storage::StorageFailure", &storage, None),
        Example::new("tsdb::wire::PointError", &point, None),
        Example::new("tsdb::wire::otlp::Malformed", &malformed, None),
        Example::new("tsdb::wire::remote_write::QueueFull", &full, None),
    ];
    let of_faults = faults
        .iter()
        .map(|fault| Example::new("tsdb::wire::Fault", fault, None));
    examples.extend(of_faults);
    examples.extend(of_remote_write());
    examples
}

fn of_remote_write() -> Vec<Example> {
    use remote_write::{Malformed, SendError};
    let too_large = Malformed::TooLarge {
        max: 1000,
        actual: 1001,
    };
    let malformed = [
        Malformed::Compression,
        too_large,
        Malformed::PartTooLarge,
        Malformed::Message,
    ];
    let retry = SendError::Retry {
        reason: "503: starting".to_owned(),
        after: None,
    };
    let rejected = SendError::Rejected {
        reason: "401: no token".to_owned(),
        divisible: false,
    };
    let malformed = malformed
        .iter()
        .map(|error| Example::new("tsdb::wire::remote_write::Malformed", error, None));
    let refused = [retry, rejected];
    let refused = refused
        .iter()
        .map(|error| Example::new("tsdb::wire::remote_write::SendError", error, None));
    malformed.chain(refused).collect()
}

#[test]
fn query_may_succeed_later_if_the_storage_could_not_be_read() {
    let unread = io::Error::from(io::ErrorKind::TimedOut);
    assert!(QueryError::Storage(unread.into()).is_transient());
    assert!(!QueryError::Label(LabelError::EmptyName).is_transient());
}
