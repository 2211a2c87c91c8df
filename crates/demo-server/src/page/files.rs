//! The files of the page, compiled into the server.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use store_http::{ApiError, page_file};

const INDEX: &str = include_str!("web/index.html");

/// Name, content type and content of the files that the page loads.
const FILES: [(&str, &str, &str); 12] = [
    ("style.css", CSS, include_str!("web/style.css")),
    ("icon.svg", SVG, include_str!("web/icon.svg")),
    ("main.js", JS, include_str!("web/main.js")),
    ("api.js", JS, include_str!("web/api.js")),
    ("dom.js", JS, include_str!("web/dom.js")),
    ("board.js", JS, include_str!("web/board.js")),
    ("rush.js", JS, include_str!("web/rush.js")),
    ("warm.js", JS, include_str!("web/warm.js")),
    ("projections.js", JS, include_str!("web/projections.js")),
    ("log.js", JS, include_str!("web/log.js")),
    ("charts.js", JS, include_str!("web/charts.js")),
    ("metrics.js", JS, include_str!("web/metrics.js")),
];

const CSS: &str = "text/css; charset=utf-8";
const SVG: &str = "image/svg+xml";
const JS: &str = "text/javascript; charset=utf-8";

/// `GET /`.
pub(super) async fn index() -> Response {
    page_file("text/html; charset=utf-8", INDEX)
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
    Ok(page_file(content_type, text))
}
