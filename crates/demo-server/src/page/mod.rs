use std::sync::Arc;

use axum::Router;

use crate::app::App;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
}
