//! The files of the page, compiled into the server.

use axum::extract::Path;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};

use store_http::ApiError;

const INDEX: &str = include_str!("web/index.html");

/// Name, content type and content of the files that the page loads.
const FILES: [(&str, &str, &str); 10] = [
    ("style.css", CSS, include_str!("web/style.css")),
    ("icon.svg", SVG, include_str!("web/icon.svg")),
    ("main.js", JS, include_str!("web/main.js")),
    ("api.js", JS, include_str!("web/api.js")),
    ("dom.js", JS, include_str!("web/dom.js")),
    ("board.js", JS, include_str!("web/board.js")),
    ("rush.js", JS, include_str!("web/rush.js")),
    ("log.js", JS, include_str!("web/log.js")),
    ("charts.js", JS, include_str!("web/charts.js")),
    ("metrics.js", JS, include_str!("web/metrics.js")),
];

const CSS: &str = "text/css; charset=utf-8";
const SVG: &str = "image/svg+xml";
const JS: &str = "text/javascript; charset=utf-8";

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

/// `GET /`.
pub(super) async fn index() -> Response {
    served("text/html; charset=utf-8", INDEX)
}

/// `GET /page/{file}`.
pub(super) async fn file(Path(name): Path<String>) -> Result<Response, ApiError> {
    let found = FILES.iter().find(|(file, ..)| *file == name);
    let (_, content_type, text) = found.ok_or_else(|| {
        ApiError::new(
            StatusCode::NOT_FOUND,
            "NOT_FOUND",
            "the page has no such file",
        )
    })?;
    Ok(served(content_type, text))
}

fn served(content_type: &'static str, text: &'static str) -> Response {
    (HEADERS, [(header::CONTENT_TYPE, content_type)], text).into_response()
}
