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
