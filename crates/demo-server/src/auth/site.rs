//! Protection against other sites' pages in a browser on this computer. Such a page can send
//! requests to any local server, and without tokens the server would answer them.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};

use store_http::ApiError;

/// A header that browsers set and page scripts cannot.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Rejects a request that a browser sends for another site's page.
///
/// # Errors
/// 403 `HOST_UNKNOWN` if the Host header could be another site's name, 403 `CROSS_ORIGIN` if
/// another site's page tries to change data.
pub(super) fn check(request: &Request) -> Result<(), ApiError> {
    let headers = request.headers();
    let host = match (request.uri().authority(), headers.get(header::HOST)) {
        (Some(authority), _) => Some(authority.as_str()),
        // An unreadable name gets the value ".", which no check below accepts.
        (None, Some(host)) => Some(host.to_str().unwrap_or(".")),
        (None, None) => None,
    };
    if !host.is_none_or(is_local_name) {
        return Err(refused(
            "HOST_UNKNOWN",
            "to reach the server by this host name, start it with --require-token",
        ));
    }
    if !request.method().is_safe() && !is_same_origin(headers, host) {
        return Err(refused(
            "CROSS_ORIGIN",
            "a page of another site may not change data on this server",
        ));
    }
    Ok(())
}

/// Whether the host is an address, a name without a dot, or a reserved name. Any other name can be
/// in public DNS, so another site could point its own name at this computer (DNS rebinding).
fn is_local_name(host: &str) -> bool {
    if host.starts_with('[') {
        // An IPv6 address.
        return true;
    }
    // The port does not matter: any page can choose it.
    let name = host.split(':').next().unwrap_or_default();
    let name = name.strip_suffix('.').unwrap_or(name);
    let Some((_, last)) = name.rsplit_once('.') else {
        return true;
    };
    let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let is_reserved = |name: &&str| last.eq_ignore_ascii_case(name);
    is_number || ["localhost", "internal"].iter().any(is_reserved)
}

/// Whether the request comes from this server's own page, or from no page at all.
fn is_same_origin(headers: &HeaderMap, host: Option<&str>) -> bool {
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        // Programs send no Origin; browsers without Sec-Fetch-Site send it with every change.
        return true;
    };
    let origin = origin.to_str().unwrap_or_default();
    let origin_host = origin.split_once("://").map(|(_, host)| host);
    origin_host
        .zip(host)
        .is_some_and(|(origin_host, host)| origin_host.eq_ignore_ascii_case(host))
}

fn refused(code: &'static str, message: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, code, message)
}
