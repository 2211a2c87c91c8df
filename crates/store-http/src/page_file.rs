use axum::http::{HeaderName, header};
use axum::response::{IntoResponse as _, Response};

/// Everything comes from this server, inline scripts do not run, and no site can frame the page.
/// The referrer is never sent, because the page's address may contain a token.
const HEADERS: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    // File names carry no version, so a browser must ask whether its copy is current.
    (header::CACHE_CONTROL, "no-cache"),
];

/// Answers with a file of a page, which may load and call nothing but this server.
pub fn page_file(content_type: &'static str, text: &'static str) -> Response {
    (HEADERS, [(header::CONTENT_TYPE, content_type)], text).into_response()
}
