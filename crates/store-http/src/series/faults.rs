use axum::http::StatusCode;
use tsdb::Error;
use tsdb::wire::{Fault, Ingested};

use crate::error::ApiError;

/// Maximum number of points that an error lists.
const NAMED: usize = 5;

/// The error for a body that was not written completely. `unit` names what its format counts: lines
/// or samples.
///
/// A fault of the sender becomes a 400, after which clients do not send the body again. A failure
/// of the server becomes a 503, after which they do. Too many new series become a 429, after which
/// a client may send the body again.
pub(super) fn check(ingested: &Ingested, unit: &str) -> Result<(), ApiError> {
    // A server failure or a limit wins over faulty points: the body must be sent again in any case.
    if let Some(failed) = failure(ingested) {
        return Err(failed);
    }
    if ingested.refused == 0 {
        return Ok(());
    }
    let named = ingested.errors.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|error| format!("{unit} {}: {}", error.index + 1, error.fault))
        .collect();
    let (code, message) = match ingested.written {
        0 => ("INVALID_POINTS", "unable to parse"),
        _ => ("PARTIAL_WRITE", "partial write"),
    };
    Err(ApiError::new(
        StatusCode::BAD_REQUEST,
        code,
        format!(
            "{message}: {} dropped={}",
            named.join("; "),
            ingested.refused
        ),
    ))
}

/// The error for a failure of the server or a limit, after which the body must be sent again.
pub(super) fn failure(ingested: &Ingested) -> Option<ApiError> {
    ingested.errors.iter().find_map(|error| match &error.fault {
        Fault::Engine(error) => of_engine(error),
        _ => None,
    })
}

/// The error for a failure of the engine, or `None` if the request is at fault.
pub(super) fn of_engine(error: &Error) -> Option<ApiError> {
    let unavailable = |code, message: &str| ApiError {
        retry_after_s: Some(1),
        ..ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    };
    Some(match error {
        Error::DiskFull(_) => unavailable("DISK_FULL", "the disk with the series is full"),
        Error::Storage(_) => {
            unavailable("STORAGE_FAILED", "the series could not be written to disk")
        }
        // A crash before the log recovers would lose the samples, and a repeated write changes
        // nothing. Without an error, the sender would forget them.
        Error::NotDurable(_) => unavailable(
            "NOT_DURABLE",
            "the samples are not on disk yet: send them again",
        ),
        Error::Closed => unavailable("CLOSED", "the server is stopping"),
        Error::TooManySeries { .. } => unavailable("TOO_MANY_SERIES", &error.to_string()),
        Error::MemoryFull { .. } => {
            unavailable("MEMORY_FULL", "the series have reached their memory limit")
        }
        Error::TooManyNewSeries { retry_after, .. } => {
            // A sender that waits less than the time that is left would be refused again.
            let seconds = retry_after.as_secs() + 1;
            ApiError {
                retry_after_s: u32::try_from(seconds).ok(),
                ..ApiError::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "TOO_MANY_NEW_SERIES",
                    error.to_string(),
                )
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tsdb::wire::PointError;

    use super::*;

    fn ingested(faults: Vec<Fault>) -> Ingested {
        let errors = faults.into_iter().enumerate();
        let errors: Vec<PointError> = errors
            .map(|(index, fault)| PointError { index, fault })
            .collect();
        Ingested {
            written: 0,
            refused: errors.len(),
            errors,
            ..Ingested::default()
        }
    }

    #[test]
    fn faulty_points_are_400_and_server_failures_are_503() {
        let form = Fault::Form("no number".into());
        let error = check(&ingested(vec![form.clone()]), "line").expect_err("the form is faulty");
        assert_eq!(error.status, StatusCode::BAD_REQUEST);
        assert_eq!(
            error.message,
            "unable to parse: line 1: no number dropped=1"
        );
        let closed = Fault::Engine(Error::Closed);
        let error = check(&ingested(vec![form, closed]), "line").expect_err("the engine is closed");
        assert_eq!(error.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(error.retry_after_s.is_some());
        assert!(check(&ingested(Vec::new()), "line").is_ok());
    }

    #[test]
    fn new_series_beyond_the_limit_are_429() {
        let error = |retry_after_ms| Error::TooManyNewSeries {
            max: 5,
            interval: Duration::from_secs(60),
            retry_after: Duration::from_millis(retry_after_ms),
        };
        for (retry_after_ms, seconds) in [(0, 1), (999, 1), (59_000, 60)] {
            let limited = Fault::Engine(error(retry_after_ms));
            let error = check(&ingested(vec![limited]), "line").expect_err("it is refused");
            assert_eq!(error.status, StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(error.retry_after_s, Some(seconds));
            assert_eq!(error.message, "the limit of 5 new series in 60s is reached");
        }
    }

    #[test]
    fn error_lists_the_first_five_faults() {
        let faults = vec![Fault::Form("x".into()); 100];
        let error = check(&ingested(faults), "sample").expect_err("all points are faulty");
        assert!(
            error.message.ends_with("; sample 5: x dropped=100"),
            "{}",
            error.message
        );
    }
}
