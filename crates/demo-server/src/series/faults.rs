use axum::http::StatusCode;
use tsdb::Error;
use tsdb::wire::{Fault, Ingested};

use crate::error::ApiError;

/// The points that an error names.
const NAMED: usize = 5;

/// An error for a body of which a part was not written: `place` is what its format counts.
///
/// What the sender can mend is a 400, after which it doesn't send the body again; what the server's
/// disk refuses is a 503, after which it does.
pub(super) fn check(ingested: &Ingested, place: &str) -> Result<(), ApiError> {
    let faults = ingested.errors.iter().map(|error| &error.fault);
    if let Some(failed) = faults.filter_map(refusal).next() {
        return Err(failed);
    }
    if ingested.refused == 0 {
        return Ok(());
    }
    let named = ingested.errors.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|error| format!("{place} {}: {}", error.index + 1, error.fault))
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

/// The answer for what is no fault of the points.
fn refusal(fault: &Fault) -> Option<ApiError> {
    let unavailable = |code, message: &str| ApiError {
        retry_after_s: Some(1),
        ..ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    };
    let Fault::Engine(error) = fault else {
        return None;
    };
    Some(match error {
        Error::DiskFull(_) => unavailable("DISK_FULL", "the disk of the series is full"),
        Error::Storage(_) => unavailable("STORAGE_FAILED", "the series can't be written down"),
        Error::Closed => unavailable("CLOSED", "the server is stopping"),
        Error::MemoryFull { .. } => unavailable("MEMORY_FULL", "the memory of the series is full"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
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
        }
    }

    #[test]
    fn what_the_sender_can_mend_is_its_error_and_what_it_can_t_is_ours() {
        let form = Fault::Form("no number".into());
        let error = check(&ingested(vec![form.clone()]), "line").expect_err("a fault");
        assert_eq!(error.status, StatusCode::BAD_REQUEST);
        assert_eq!(
            error.message,
            "unable to parse: line 1: no number dropped=1"
        );
        let closed = Fault::Engine(Error::Closed);
        let error = check(&ingested(vec![form, closed]), "line").expect_err("a fault");
        assert_eq!(error.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(error.retry_after_s.is_some());
        assert!(check(&ingested(Vec::new()), "line").is_ok());
    }

    #[test]
    fn a_few_of_many_faults_are_named() {
        let faults = vec![Fault::Form("x".into()); 100];
        let error = check(&ingested(faults), "sample").expect_err("a fault");
        assert!(
            error.message.ends_with("; sample 5: x dropped=100"),
            "{}",
            error.message
        );
    }
}
