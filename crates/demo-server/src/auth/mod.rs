//! Authentication and authorization.
//!
//! A namespace token opens the messages of one namespace. The admin token creates, lists and
//! deletes namespaces but opens none. `/rpc`, `/subscribe` and `/import` always require a token.
//! With `--require-token` every path does, except the page's own files and the health checks.
//! Events, series and the page belong to no namespace: the admin token and the token of `default`
//! open them.
//!
//! Paths that require no token reject requests that a browser makes for another site's page.
//!
//! In test mode without `--require-token`, a caller without a token is in the namespace `default`
//! and has admin rights. A token that a caller does send is still checked.

mod caller;
mod refusal;
mod site;
mod tokens;

use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use serde::Deserialize;

use store_http::messages::DEFAULT;
use store_http::{ApiError, HEALTH_PATHS, explorer};

use caller::Identified;
use refusal::invalid_token;

pub(crate) use tokens::{Tokens, check_token_of_default};

/// In test mode, the response header that carries the token of the request's namespace.
const ANSWERED_TOKEN: HeaderName = HeaderName::from_static("x-eventodb-token");

/// The folders of the files of the pages and of those that show the API documentation. The document
/// itself, `/openapi.json`, is not among them.
const FILES: [&str; 3] = ["/page/", "/docs/", explorer::PATH];

/// The callers that may use a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// Everyone.
    All,
    /// Callers with a namespace token or the admin token.
    Namespaces,
    /// Callers who may use events, series and the page.
    Server,
}

impl Audience {
    fn of(path: &str, everything_asks: bool) -> Self {
        match path {
            "/rpc" | "/subscribe" | "/import" => Self::Namespaces,
            _ if !everything_asks || is_open(path) => Self::All,
            // Every token may read the version, not only those that open the whole server.
            "/version" => Self::Namespaces,
            _ => Self::Server,
        }
    }
}

/// Whether a path never requires a token: the health checks, and the files of the pages, which hold no data and
/// explain how to pass a token.
fn is_open(path: &str) -> bool {
    path == "/"
        || path == "/explorer"
        || HEALTH_PATHS.contains(&path)
        || FILES.iter().any(|folder| path.starts_with(folder))
}

/// Checks a request before its body is read: rejects a missing or malformed token where the path
/// requires one, and a request from another site where it does not.
pub(crate) fn screen(tokens: &Tokens, request: &Request) -> Result<(), ApiError> {
    let (headers, uri) = (request.headers(), request.uri());
    let audience = Audience::of(uri.path(), tokens.settings.require_token);
    let asks = audience != Audience::All && tokens.are_needed();
    // A browser does not add a token by itself, so a request that has one is not from another site.
    if !asks && !is_open(uri.path()) {
        site::check(request)?;
    }
    match audience {
        Audience::All => Ok(()),
        Audience::Namespaces | Audience::Server => {
            caller::screen(tokens, token_of(headers, uri)?.as_deref())
        }
    }
}

/// Lets a request through if its path requires no token or its token is valid. Handlers of
/// namespace paths find the [`Caller`](store_http::messages::Caller) in the request's extensions.
pub(crate) async fn check(
    State(tokens): State<Arc<Tokens>>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let audience = Audience::of(request.uri().path(), tokens.settings.require_token);
    if audience == Audience::All {
        return Ok(next.run(request).await);
    }
    let token = token_of(request.headers(), request.uri())?;
    let Identified {
        caller,
        answered_token,
    } = Identified::by(&tokens, token.as_deref()).await?;
    // Events, series and the page belong to no namespace.
    let may_use_the_server = caller.is_admin || caller.is_of(DEFAULT);
    if audience == Audience::Server && !may_use_the_server {
        return Err(ApiError::unauthorized("this token is for messages only"));
    }
    request.extensions_mut().insert(caller);
    let mut response = next.run(request).await;
    if let Some(token) = answered_token {
        response.headers_mut().insert(ANSWERED_TOKEN, token);
    }
    Ok(response)
}

/// The token of a request: `Authorization: Bearer`, or `Token` as InfluxDB clients send it, or
/// `?token=`, because a browser's `EventSource` cannot set headers.
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
    // The header wins, so that a client can override the token of a copied URL.
    if in_header.is_some() || uri.query().is_none() {
        return Ok(in_header);
    }
    let query = Query::<InQuery>::try_from_uri(uri).map_err(|_| invalid_token())?;
    Ok(query.0.token.filter(|token| !token.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_paths_are_open_if_every_path_requires_a_token() {
        for open in [
            "/",
            "/health",
            "/livez",
            "/readyz",
            "/dcb/health",
            "/series/health",
            "/-/healthy",
            "/-/ready",
            "/page/main.js",
            "/docs/",
            "/docs/swagger-ui.css",
            "/ping",
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
            "/docs",
            "/nowhere",
        ] {
            assert_eq!(Audience::of(closed, true), Audience::Server, "{closed}");
            assert_eq!(Audience::of(closed, false), Audience::All, "{closed}");
        }
    }

    #[test]
    fn message_paths_always_require_a_token() {
        for path in ["/rpc", "/subscribe", "/import"] {
            assert_eq!(Audience::of(path, false), Audience::Namespaces);
            assert_eq!(Audience::of(path, true), Audience::Namespaces);
        }
    }
}
