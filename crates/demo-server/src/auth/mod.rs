//! Who may do what.
//!
//! A token opens one namespace of messages; the administration token opens none, and makes and
//! deletes them. `/rpc`, `/subscribe` and `/import` always ask for one, everything else with
//! `--require-token`, but for the page's own files and the
//! server's health. What is no namespace's own, such as the events and the
//! series, is then for the administration and for the namespace `default`.
//!
//! Where no token is asked for, nothing is done for the page of another site that somebody on this
//! computer looks at.
//!
//! In test mode without `--require-token` a caller without a token is that of `default` and
//! administers; a token that is brought counts all the same.

mod caller;
mod site;
mod token;
mod tokens;

use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use serde::Deserialize;

use crate::app::App;
use crate::error::ApiError;

pub(crate) use caller::Caller;
pub(crate) use token::{TokenHash, made_for, namespace_of};
pub(crate) use tokens::Tokens;

/// The header in which test mode answers the token of the namespace that a request was for.
const ANSWERED_TOKEN: HeaderName = HeaderName::from_static("x-eventodb-token");

/// Paths that never ask: whether the server is well, and the page's own files, which hold no data
/// and tell a browser how to bring a token.
const OPEN: [&str; 4] = ["/", "/health", "/dcb/health", "/series/health"];
/// Where the page's files are.
const PAGE: &str = "/page/";

/// Whom a path is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// Everybody.
    All,
    /// Who has a namespace, or administers.
    Namespaces,
    /// Who may use what is no namespace's own.
    Server,
}

impl Audience {
    fn of(path: &str, everything_asks: bool) -> Self {
        match path {
            "/rpc" | "/subscribe" | "/import" => Self::Namespaces,
            _ if !everything_asks || is_open(path) => Self::All,
            "/version" => Self::Namespaces,
            _ => Self::Server,
        }
    }
}

fn is_open(path: &str) -> bool {
    OPEN.contains(&path) || path.starts_with(PAGE)
}

/// Refuses a request that brings no token where its path asks for one, or comes from another site
/// where it asks for none, before its body is read.
pub(crate) fn screen(app: &App, request: &Request) -> Result<(), ApiError> {
    let (headers, uri) = (request.headers(), request.uri());
    let audience = Audience::of(uri.path(), app.settings.require_token);
    let asks = audience != Audience::All && app.tokens.are_needed();
    if !asks && !is_open(uri.path()) {
        site::check(request)?;
    }
    match audience {
        Audience::All => Ok(()),
        Audience::Namespaces | Audience::Server => {
            caller::screen(app, token_of(headers, uri)?.as_deref())
        }
    }
}

/// Lets requests through that need no token or bring a good one. Handlers of paths that are for
/// namespaces find the [`Caller`] in the request's extensions.
pub(crate) async fn check(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let audience = Audience::of(request.uri().path(), app.settings.require_token);
    if audience == Audience::All {
        return Ok(next.run(request).await);
    }
    let token = token_of(request.headers(), request.uri())?;
    let caller = Caller::identify(&app, token.as_deref()).await?;
    if audience == Audience::Server && !caller.may_use_the_server() {
        return Err(unauthorized("this token is for messages only"));
    }
    let answered = caller.answered_token().cloned();
    request.extensions_mut().insert(caller);
    let mut response = next.run(request).await;
    if let Some(token) = answered {
        response.headers_mut().insert(ANSWERED_TOKEN, token);
    }
    Ok(response)
}

/// What a request brings: `Authorization: Bearer`, or `Token` as InfluxDB's clients write it, else
/// `?token=`, as browsers must write it for event streams.
fn token_of(headers: &HeaderMap, uri: &Uri) -> Result<Option<String>, ApiError> {
    #[derive(Deserialize)]
    struct InQuery {
        token: Option<String>,
    }

    let in_header = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.split_once(' '))
        .filter(|(scheme, _)| {
            scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("token")
        })
        .map(|(_, token)| token.trim().to_owned());
    if in_header.is_some() || uri.query().is_none() {
        return Ok(in_header);
    }
    let query = Query::<InQuery>::try_from_uri(uri).map_err(|_| invalid_token())?;
    Ok(query.0.token.filter(|token| !token.is_empty()))
}

/// 401 `AUTH_REQUIRED`.
fn required() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "AUTH_REQUIRED",
        "this server asks for a token: send Authorization: Bearer <token>, or add ?token=<token>",
    )
}

/// 401 `AUTH_INVALID_TOKEN`.
fn invalid_token() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "AUTH_INVALID_TOKEN",
        "this is no token: one has the form ns_<namespace in base64url>_<64 hexadecimal digits>",
    )
}

/// 403 `AUTH_UNAUTHORIZED`.
pub(crate) fn unauthorized(message: &'static str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "AUTH_UNAUTHORIZED", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_is_open_where_everything_asks() {
        for open in [
            "/",
            "/health",
            "/dcb/health",
            "/series/health",
            "/page/main.js",
        ] {
            assert_eq!(Audience::of(open, true), Audience::All, "{open}");
        }
        for closed in [
            "/dcb/events",
            "/dcb/health/",
            "//",
            "/page",
            "/demo/state",
            "/metrics",
            "/series/metrics",
            "/api/v1/query",
            "/openapi.json",
            "/docs/",
            "/nowhere",
        ] {
            assert_eq!(Audience::of(closed, true), Audience::Server, "{closed}");
            assert_eq!(Audience::of(closed, false), Audience::All, "{closed}");
        }
    }

    #[test]
    fn messages_always_ask() {
        for path in ["/rpc", "/subscribe", "/import"] {
            assert_eq!(Audience::of(path, false), Audience::Namespaces);
            assert_eq!(Audience::of(path, true), Audience::Namespaces);
        }
    }
}
