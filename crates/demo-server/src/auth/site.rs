//! What tells a program on this computer from the page of another site, for which a browser on this
//! computer asks: it may ask any server here, and without a token it would be answered.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};

use crate::error::ApiError;

/// What browsers say of the page that asks, and no page can.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses what a browser asks for a page that is not this server's.
///
/// # Errors
/// 403 `HOST_UNKNOWN` where the server is called by a name that may be somebody else's, 403
/// `CROSS_ORIGIN` where the page of another site would change something.
pub(super) fn check(request: &Request) -> Result<(), ApiError> {
    let headers = request.headers();
    let host = match (request.uri().authority(), headers.get(header::HOST)) {
        (Some(authority), _) => Some(authority.as_str()),
        (None, Some(host)) => Some(host.to_str().unwrap_or(".")),
        (None, None) => None,
    };
    if !host.is_none_or(is_nobody_elses) {
        return Err(refused(
            "HOST_UNKNOWN",
            "by this name the server is reached only with --require-token",
        ));
    }
    if !request.method().is_safe() && !is_of_own_page(headers, host) {
        return Err(refused(
            "CROSS_ORIGIN",
            "the page of another site changes nothing here",
        ));
    }
    Ok(())
}

/// Whether it is an address, or a name that nobody can give an address to for others: without a dot,
/// or reserved. Any other may belong to the page that asks, which has given it this computer's.
fn is_nobody_elses(host: &str) -> bool {
    if host.starts_with('[') {
        return true;
    }
    let name = host.split(':').next().unwrap_or_default();
    let name = name.strip_suffix('.').unwrap_or(name);
    let Some((_, last)) = name.rsplit_once('.') else {
        return true;
    };
    let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let is_reserved = |name: &&str| last.eq_ignore_ascii_case(name);
    is_number || ["localhost", "internal"].iter().any(is_reserved)
}

/// Whether no page asks, or one of this server's.
fn is_of_own_page(headers: &HeaderMap, host: Option<&str>) -> bool {
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let origin = origin.to_str().unwrap_or_default();
    let own = origin.split_once("://").map(|(_, own)| own);
    own.zip(host)
        .is_some_and(|(own, host)| own.eq_ignore_ascii_case(host))
}

fn refused(code: &'static str, message: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, code, message)
}
