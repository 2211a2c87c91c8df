use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;

use super::arguments::{self, Arguments};
use super::{category, ns, stream, sys};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;

/// A call and its caller.
pub(super) struct Call<'a> {
    pub(super) app: &'a App,
    pub(super) caller: &'a Caller,
    pub(super) arguments: Arguments<'a>,
}

/// `POST /rpc`.
pub(super) async fn call(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let (method, arguments) = arguments::parse(&body)?;
    let call = Call {
        app: &app,
        caller: &caller,
        arguments,
    };
    match &*method {
        "stream.write" => stream::write(call).await,
        "stream.get" => stream::get(call).await,
        "stream.last" => stream::last(call).await,
        "stream.version" => stream::version(call).await,
        "category.get" => category::get(call).await,
        "ns.create" => ns::create(call).await,
        "ns.delete" => ns::delete(call).await,
        "ns.list" => ns::list(call).await,
        "ns.info" => ns::info(call).await,
        "ns.streams" => ns::streams(call).await,
        "ns.categories" => ns::categories(call).await,
        "sys.version" => Ok(sys::version()),
        "sys.health" => sys::health(&call),
        unknown => Err(ApiError::new(
            StatusCode::NOT_FOUND,
            "METHOD_NOT_FOUND",
            format!("unknown method {unknown}"),
        )),
    }
}
