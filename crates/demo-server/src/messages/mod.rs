//! Messages: RPC calls as JSON arrays, pokes as server-sent events, and imports.
//!
//! The token of a request selects its namespace; see [`crate::auth`].

mod answer;
mod arguments;
mod call;
mod category;
mod error;
mod import;
mod lines;
mod ns;
mod rows;
mod rpc;
mod stream;
mod subscribe;
mod sys;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};

use crate::guard::Guard;
use crate::health::Health;
use crate::input::no_parameters;
use crate::namespaces::OpenNamespaces;
use crate::outbox::Outbox;

pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<Guard>: FromRef<S>,
    Arc<Health>: FromRef<S>,
    Arc<OpenNamespaces>: FromRef<S>,
    Arc<Outbox>: FromRef<S>,
{
    Router::new()
        .route("/rpc", post(rpc::call))
        .route_layer(no_parameters())
        .route("/subscribe", get(subscribe::subscribe))
        .route("/import", post(import::import))
        .route("/version", get(sys::version_document))
}
