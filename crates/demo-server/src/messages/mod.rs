//! Messages: RPC calls as JSON arrays, pokes as server-sent events, and imports.
//!
//! The token of a request selects its namespace; see [`crate::auth`].

mod arguments;
mod category;
mod errors;
mod import;
mod lines;
mod ns;
mod open_namespaces;
mod rows;
mod rpc;
mod stream;
mod subscribe;
mod sys;

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::app::App;

pub(crate) use errors::api_error;
pub(crate) use open_namespaces::{DEFAULT, OpenNamespace, OpenNamespaces, default_name};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/rpc", post(rpc::call))
        .route("/subscribe", get(subscribe::subscribe))
        .route("/import", post(import::import))
        .route("/version", get(sys::version_document))
}

/// A 200 with this JSON text.
fn json_answer(text: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}
