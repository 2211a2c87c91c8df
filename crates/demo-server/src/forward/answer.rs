//! The receiver's answers: the samples are stored, to be sent again, or refused.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use tsdb::wire::remote_write::SendError;

/// The longest pause that a receiver can ask for.
const MAX_PAUSE: Duration = Duration::from_secs(60 * 60);

/// Accepted, to be sent again later, or rejected. Only statuses that tell of the samples reject them:
/// an expired token, a wrong path or a redirect of a proxy is no fault of theirs.
pub(super) fn outcome(
    status: StatusCode,
    headers: &HeaderMap,
    body: &str,
) -> Result<(), SendError> {
    if status.is_success() {
        return Ok(());
    }
    let reason = format!("{status}: {}", body.trim());
    Err(match status {
        StatusCode::BAD_REQUEST
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNPROCESSABLE_ENTITY => SendError::Rejected {
            reason,
            divisible: true,
        },
        StatusCode::CONFLICT | StatusCode::UNSUPPORTED_MEDIA_TYPE => SendError::Rejected {
            reason,
            divisible: false,
        },
        _ => SendError::Retry {
            reason,
            after: retry_after(headers),
        },
    })
}

/// The pause that a receiver asks for: in seconds, or until a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
            let pause = until.duration_since(jiff::Timestamp::now());
            Duration::try_from(pause).unwrap_or_default()
        }
    };
    Some(pause.min(MAX_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, after: Option<&str>) -> Result<(), SendError> {
        let mut headers = HeaderMap::new();
        if let Some(after) = after {
            headers.insert(header::RETRY_AFTER, after.parse().expect("a value"));
        }
        outcome(
            StatusCode::from_u16(status).expect("a status"),
            &headers,
            "x",
        )
    }

    #[test]
    fn temporary_failures_are_retried_and_others_rejected() {
        for status in [200, 204] {
            assert_eq!(answered(status, None), Ok(()));
        }
        for status in [302, 401, 403, 404, 405, 407, 408, 429, 500, 502, 503, 504] {
            assert!(
                matches!(answered(status, None), Err(SendError::Retry { .. })),
                "{status}"
            );
        }
        for (status, parts) in [
            (400, true),
            (409, false),
            (413, true),
            (415, false),
            (422, true),
        ] {
            let rejected = answered(status, None);
            assert!(
                matches!(rejected, Err(SendError::Rejected { divisible, .. }) if divisible == parts),
                "{status}"
            );
        }
    }

    #[test]
    fn pause_is_read_in_seconds_and_as_a_date() {
        let pause = |after: &str| match answered(503, Some(after)) {
            Err(SendError::Retry { after, .. }) => after,
            other => panic!("{other:?}"),
        };
        assert_eq!(pause("7"), Some(Duration::from_secs(7)));
        assert_eq!(pause("99999999999"), Some(MAX_PAUSE));
        assert_eq!(pause("soon"), None);
        assert_eq!(pause("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let later = jiff::Timestamp::now() + Duration::from_secs(60);
        let date = later.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let seconds = pause(&date).expect("a date").as_secs();
        assert!((58..=60).contains(&seconds), "{seconds}");
    }
}
