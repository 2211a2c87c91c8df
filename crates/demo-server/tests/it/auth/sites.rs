//! Requests that a browser sends for another site's page.

use axum::http::{Method, header};
use demo_server::Settings;
use serde_json::json;

use super::TOKEN;
use crate::support::rpc::{assert_refused, rpc};
use crate::support::{Answer, Client};

const PATHS: [&str; 5] = [
    "/dcb/cleanup",
    "/demo/courses",
    "/series/write",
    "/api/v2/write",
    "/rpc",
];

/// Posts with these headers.
async fn post(client: &Client, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = client.request(Method::POST, path);
    for (name, value) in headers {
        request = request.header(*name, value.replace("OWN", &client.url("")));
    }
    client.send(request, r#"["sys.version"]"#).await
}

#[tokio::test]
async fn page_of_another_site_cannot_write() {
    let client = Client::start().await;
    for path in PATHS {
        for headers in [
            &[("origin", "https://elsewhere.example")][..],
            &[("origin", "null")],
            &[("origin", "http://127.0.0.1:1")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site"), ("origin", "OWN")],
        ] {
            let answer = post(&client, path, headers).await;
            assert_eq!(answer.status, 403, "{path} {headers:?}");
        }
        for headers in [
            &[][..],
            &[("origin", "OWN")],
            &[("sec-fetch-site", "none")],
            // A proxy with another name in front of the server.
            &[
                ("sec-fetch-site", "same-origin"),
                ("origin", "https://proxy.example"),
            ],
        ] {
            let answer = post(&client, path, headers).await;
            assert_ne!(answer.status, 403, "{path} {headers:?}");
        }
    }
    let refused = post(&client, "/rpc", &[("origin", "null")]).await;
    assert_refused(&refused, 403, "CROSS_ORIGIN");
    client.stop().await;
}

/// Another site can point its own name at this computer (DNS rebinding). Its page then has the same
/// origin as this server and could read the responses.
#[tokio::test]
async fn foreign_host_name_cannot_read() {
    let client = Client::start().await;
    let get = async |path: &str, host: &str| {
        let request = client.request(Method::GET, path);
        client.send(request.header(header::HOST, host), "").await
    };
    for host in [
        "elsewhere.example",
        "elsewhere.example:8080",
        "127.0.0.1.elsewhere.example",
        "localhost.elsewhere.example",
        "elsewhere.example.",
        "elsewhere.example..",
    ] {
        for path in ["/dcb/read", "/demo/state", "/api/v1/labels", "/metrics"] {
            assert_eq!(get(path, host).await.status, 403, "{host} {path}");
        }
    }
    let refused = get("/dcb/read", "elsewhere.example").await;
    assert_eq!(refused.json()["code"], "HOST_UNKNOWN");
    for host in [
        "localhost",
        "LOCALHOST:8080",
        "localhost.",
        "registrar.localhost:8080",
        "127.0.0.1",
        "127.1:80",
        "[::1]:8080",
        "192.168.0.7",
        "workstation:8080",
        "host.docker.internal:8080",
    ] {
        assert_eq!(get("/dcb/read", host).await.status, 200, "{host}");
    }
    assert_eq!(get("/health", "elsewhere.example").await.status, 200);
    client.stop().await;
}

/// A page of another site does not know the token.
#[tokio::test]
async fn any_host_name_works_if_tokens_are_required() {
    let settings = Settings {
        require_token: true,
        token: Some(TOKEN.to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with_token(settings, TOKEN).await;
    let request = client
        .request(Method::POST, "/dcb/read")
        .header(header::HOST, "registrar.example")
        .header(header::ORIGIN, "https://elsewhere.example")
        .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
    client.send(request, r#"{"query":{}}"#).await.ok();
    rpc(&client, TOKEN, json!(["sys.version"])).await.ok();
    client.stop().await;
}
