//! Messages: RPC calls as JSON arrays, pokes as server-sent events, and imports.
//!
//! The [`Caller`] of a request selects its namespace. A layer of the service puts it into the request's
//! extensions, for example from a token.

mod answer;
mod arguments;
mod call;
mod caller;
mod category;
mod error;
mod import;
mod lines;
mod namespaces;
mod ns;
mod rows;
mod rpc;
mod stream;
mod subscribe;
mod sys;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::input::no_parameters;
use crate::service::Service;

pub use caller::Caller;
pub use namespaces::{
    DEFAULT, OpenNamespace, OpenNamespaces, TokenHash, default_name, namespace_of, secret,
};

/// The state of the router.
struct Messages {
    namespaces: Arc<OpenNamespaces>,
    service: Service,
}

/// The paths of the messages in these namespaces: `/rpc`, `/subscribe`, `/import` and `/version`.
/// All but the last answer 401 to a request without a [`Caller`].
pub fn router(namespaces: Arc<OpenNamespaces>, service: &Service) -> Router {
    let state = Arc::new(Messages {
        namespaces,
        service: service.clone(),
    });
    Router::new()
        .route("/rpc", post(rpc::call))
        .route_layer(no_parameters())
        .route("/subscribe", get(subscribe::subscribe))
        .route("/import", post(import::import))
        .route("/version", get(sys::version_document))
        .with_state(state)
}
