use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;

use super::call::Call;
use super::caller::Caller;
use super::{Messages, arguments, category, ns, stream, sys};
use crate::error::ApiError;

/// `POST /rpc`.
pub(super) async fn call(
    State(messages): State<Arc<Messages>>,
    caller: Caller,
    body: Bytes,
) -> Result<Response, ApiError> {
    let (method, arguments) = arguments::parse(&body)?;
    let call = Call {
        namespaces: &messages.namespaces,
        service: &messages.service,
        caller: &caller,
        arguments,
    };
    if let Some(count) = max_arguments(&method) {
        call.arguments.at_most(count)?;
    }
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
        "ns.checkpoints" => ns::checkpoints(call).await,
        "sys.version" => Ok(sys::version()),
        "sys.health" => sys::health(&call),
        unknown => Err(ApiError::new(
            StatusCode::NOT_FOUND,
            "METHOD_NOT_FOUND",
            format!("unknown method {unknown}"),
        )),
    }
}

/// The number of arguments after the method; `None` for an unknown method.
fn max_arguments(method: &str) -> Option<usize> {
    Some(match method {
        "stream.write" => 3,
        "stream.get" | "stream.last" | "category.get" | "ns.create" => 2,
        "stream.version" | "ns.delete" | "ns.info" | "ns.streams" => 1,
        "ns.list" | "ns.categories" | "ns.checkpoints" | "sys.version" | "sys.health" => 0,
        _ => return None,
    })
}
