//! A page that shows what is in the stores: events, messages and series.
//!
//! It reads with the paths of the other routers beside it, so it shows a caller what the caller's token opens. It
//! has no way to write. The files contain no data and need no token: let requests for [`PATH`] through, and pass a
//! token to the page as `?token=`.

use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;

use crate::error::ApiError;
use crate::page_file::page_file;

/// The folder of the page's files.
pub const PATH: &str = "/explorer/";

/// Name, content type and content of the files.
const FILES: [(&str, &str, &str); 11] = [
    (
        "",
        "text/html; charset=utf-8",
        include_str!("web/index.html"),
    ),
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("web/style.css"),
    ),
    ("icon.svg", "image/svg+xml", include_str!("web/icon.svg")),
    ("main.js", JS, include_str!("web/main.js")),
    ("api.js", JS, include_str!("web/api.js")),
    ("dom.js", JS, include_str!("web/dom.js")),
    ("notice.js", JS, include_str!("web/notice.js")),
    ("events.js", JS, include_str!("web/events.js")),
    ("states.js", JS, include_str!("web/states.js")),
    ("messages.js", JS, include_str!("web/messages.js")),
    ("series.js", JS, include_str!("web/series.js")),
];

const JS: &str = "text/javascript; charset=utf-8";

/// The page, under `/explorer/`. Mount it beside the other routers: it expects the events at `../dcb`, the messages at
/// `../rpc` and the series at `../api/v1`. It says so if one of them is not there. It shows states of the projections in
/// [`Options::states`](crate::dcb::Options::states).
pub fn router() -> Router {
    Router::new()
        .route("/explorer", get(with_slash))
        .route(PATH, get(async || file(Path(String::new())).await))
        .route("/explorer/{file}", get(file))
}

/// Relative addresses in the page need the slash.
async fn with_slash(RawQuery(query): RawQuery) -> Redirect {
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    Redirect::permanent(&format!("explorer/{query}"))
}

async fn file(Path(name): Path<String>) -> Response {
    let found = FILES.iter().find(|(file, ..)| *file == name);
    match found {
        Some((_, content_type, text)) => page_file(content_type, text),
        None => {
            let message = "the page has no such file";
            ApiError::new(StatusCode::NOT_FOUND, "NOT_FOUND", message).into_response()
        }
    }
}
