//! Access by token, and requests without one.

use axum::http::{Method, header};
use demo_server::{OpenError, Server, Settings};
use local_postgres::Durability;
use serde_json::{Value, json};

use super::{ADMIN, TOKEN, create, folder, read, settings, token_of, write};
use crate::support::Client;
use crate::support::rpc::{Events, assert_refused, rpc};

#[tokio::test]
async fn message_paths_require_a_token() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    for (method, path) in [
        (Method::POST, "/rpc"),
        (Method::GET, "/subscribe?all=true"),
        (Method::POST, "/import"),
    ] {
        let none = client
            .send(client.request(method.clone(), path), "[]")
            .await;
        assert_refused(&none, 401, "AUTH_REQUIRED");
        assert_eq!(none.headers[header::WWW_AUTHENTICATE], "Bearer");
        let basic = client.request(method.clone(), path);
        let basic = basic.header(header::AUTHORIZATION, "Basic YTpi");
        assert_refused(&client.send(basic, "[]").await, 401, "AUTH_REQUIRED");
        for bad in ["x", "ns_", "ns_ZGVmYXVsdA_00", ADMIN.split_at(3).0] {
            let bad = client
                .request(method.clone(), path)
                .header(header::AUTHORIZATION, format!("Bearer {bad}"));
            assert_refused(&client.send(bad, "[]").await, 401, "AUTH_INVALID_TOKEN");
        }
        // The first token has a wrong secret for an existing namespace. The second one names a
        // missing namespace.
        for other in [token_of("ZGVmYXVsdA", '1'), token_of("bm9uZQ", '0')] {
            let request = client.request(method.clone(), path);
            let request = request.header(header::AUTHORIZATION, format!("Bearer {other}"));
            let answer = client.send(request, "[]").await;
            assert_refused(&answer, 403, "AUTH_UNAUTHORIZED");
            assert!(
                !answer.text().contains(&"0".repeat(16)),
                "{}",
                answer.text()
            );
        }
    }
    // Other paths require no token.
    client.get("/version").await.ok();
    client.stop().await;
}

const VERSION: &str = r#"["stream.version","a-1"]"#;

#[tokio::test]
async fn token_is_read_from_the_header_by_any_of_its_schemes() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    for scheme in ["Bearer", "bearer", "Token"] {
        let request = client.request(Method::POST, "/rpc");
        let request = request.header(header::AUTHORIZATION, format!("{scheme} {TOKEN}"));
        assert_eq!(client.send(request, VERSION).await.ok(), Value::Null);
    }
    client.stop().await;
}

#[tokio::test]
async fn token_is_read_from_the_url_of_each_message_path() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let encoded = TOKEN.replace('_', "%5F");
    for token in [TOKEN, &encoded] {
        let answer = client
            .post_bytes(&format!("/rpc?token={token}"), VERSION)
            .await;
        assert_eq!(answer.ok(), Value::Null, "{token}");
    }
    let among_others = format!("/import?force=true&token={encoded}&");
    let answer = client.post_bytes(&among_others, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    write(&client, TOKEN, json!(1)).await.ok();
    let path = format!("/subscribe?all=true&token={TOKEN}");
    let response = client.open(client.request(Method::GET, &path)).await;
    assert_eq!(Events::of(response).pokes(1).await.len(), 1);
    client.stop().await;
}

#[tokio::test]
async fn url_with_an_empty_token_or_with_two_is_refused() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let empty = client.post_bytes("/rpc?token=", VERSION).await;
    assert_refused(&empty, 401, "AUTH_REQUIRED");
    let twice = format!("/rpc?token={TOKEN}&token={TOKEN}");
    let twice = client.post_bytes(&twice, VERSION).await;
    assert_refused(&twice, 401, "AUTH_INVALID_TOKEN");
    client.stop().await;
}

#[tokio::test]
async fn token_opens_only_its_own_namespace() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let one = create(&client, "one").await;
    let two = create(&client, "two").await;
    for (token, data) in [(TOKEN, 0), (&*one, 1), (&*two, 2)] {
        assert_eq!(write(&client, token, json!(data)).await.ok()["position"], 0);
    }
    for (token, data) in [(TOKEN, 0), (&*one, 1), (&*two, 2)] {
        assert_eq!(read(&client, token).await, [json!(data)]);
    }
    // This token has the name of one namespace and the secret of the other.
    let (_, secret) = one.rsplit_once('_').expect("the token has a secret");
    let (name, _) = two.rsplit_once('_').expect("the token has a secret");
    let mixed = write(&client, &format!("{name}_{secret}"), json!(3)).await;
    assert_refused(&mixed, 403, "AUTH_UNAUTHORIZED");
    client.stop().await;
}

#[tokio::test]
async fn generated_tokens_are_shown_once() {
    let folder = folder();
    let settings = Settings {
        token: None,
        admin_token: None,
        ..settings(folder.path())
    };
    let client = Client::with(settings.clone()).await;
    let shown = |greeting: &str, label: &str| {
        let line = greeting.lines().find(|line| line.starts_with(label))?;
        line.rsplit_once(": ").map(|(_, token)| token.to_owned())
    };
    let greeting = client.greeting();
    let default = shown(&greeting, "token of the namespace default").expect("it is shown");
    let admin = shown(&greeting, "admin token").expect("it is shown");
    write(&client, &default, json!(1)).await.ok();
    rpc(&client, &admin, json!(["ns.list"])).await.ok();
    assert_refused(
        &rpc(&client, &default, json!(["ns.list"])).await,
        403,
        "AUTH_UNAUTHORIZED",
    );
    client.stop().await;

    let client = Client::with(settings).await;
    let greeting = client.greeting();
    assert_eq!(shown(&greeting, "token of the namespace default"), None);
    let new = shown(&greeting, "admin token").expect("it is shown");
    assert_eq!(read(&client, &default).await, [json!(1)]);
    rpc(&client, &new, json!(["ns.list"])).await.ok();
    let old = rpc(&client, &admin, json!(["ns.list"])).await;
    assert_refused(&old, 401, "AUTH_INVALID_TOKEN");
    client.stop().await;
}

/// If a failed start made a token, the token would never be shown.
#[tokio::test]
async fn failed_start_makes_no_token() {
    let folder = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let settings = Settings {
        token: None,
        port: taken.local_addr().expect("the address is known").port(),
        ..settings(folder.path())
    };
    let refused = Server::start(settings.clone()).await.err();
    assert!(matches!(refused, Some(OpenError::Listen { .. })));
    let client = Client::with(Settings {
        port: 0,
        ..settings
    })
    .await;
    let greeting = client.greeting();
    assert!(
        greeting.contains("token of the namespace default"),
        "{greeting}"
    );
    client.stop().await;
}

/// None of the servers finds the namespace `default`, and only one may create it.
#[tokio::test(flavor = "multi_thread")]
async fn servers_started_together_show_only_the_token_that_works() {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    let server = server.expect("PostgreSQL starts");
    for _ in 0..3 {
        let database = server
            .create_database("tokens")
            .await
            .expect("the database is created");
        let folders = [folder(), folder(), folder(), folder()];
        let clients = folders.each_ref().map(|folder| {
            Client::with(Settings {
                token: None,
                database_url: Some(database.url().to_owned()),
                ..settings(folder.path())
            })
        });
        let clients = futures_util::future::join_all(clients).await;
        let mut shown = 0;
        for client in &clients {
            let greeting = client.greeting();
            if let Some((_, token)) = greeting.split_once("namespace default (shown once): ") {
                write(client, token, json!(1)).await.ok();
                shown += 1;
            }
        }
        assert_eq!(shown, 1);
        for client in clients {
            client.stop().await;
        }
    }
}

#[tokio::test]
async fn token_of_default_may_be_any_text_except_another_namespace_s_token() {
    let folder = folder();
    let with = |token: &str| Settings {
        token: Some(token.to_owned()),
        ..settings(folder.path())
    };
    let client = Client::with(with("any text")).await;
    write(&client, "any text", json!(1)).await.ok();
    client.stop().await;
    for token in ["", &token_of("dGVuYW50", '0')] {
        let refused = Server::start(with(token))
            .await
            .err()
            .expect("the start fails");
        assert!(!refused.to_string().contains(&"0".repeat(16)), "{refused}");
    }
}

/// The status of a response, without the check against the OpenAPI document.
async fn status(client: &Client, path: &str, token: &str) -> u16 {
    let mut request = client.request(Method::GET, path);
    if !token.is_empty() {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    client.open(request).await.status().as_u16()
}

#[tokio::test]
async fn require_token_applies_to_all_paths_except_health_and_page_files() {
    let folder = folder();
    let settings = Settings {
        require_token: true,
        ..settings(folder.path())
    };
    let client = Client::with_token(settings, TOKEN).await;
    let tenant = create(&client, "tenant").await;
    for open in ["/health", "/dcb/health", "/series/health"] {
        assert_eq!(status(&client, open, "").await, 200, "{open}");
    }
    // The page's own files are open too.
    for open in [
        "/",
        "/page/main.js",
        "/docs/",
        "/docs/swagger-ui.css",
        "/explorer",
        "/explorer/",
        "/explorer/main.js",
    ] {
        assert_ne!(status(&client, open, "").await, 401, "{open}");
    }
    let wrong = token_of("ZGVmYXVsdA", '1');
    for closed in [
        "/openapi.json",
        "/nowhere",
        "/dcb/nowhere",
        "/dcb/states",
        "/dcb/states/course?key=c1",
        "/demo/state",
        "/api/v1/query",
        "/series/metrics",
        "/metrics",
        "/version",
        "//",
    ] {
        assert_eq!(status(&client, closed, "").await, 401, "{closed}");
        assert_eq!(status(&client, closed, &wrong).await, 403, "{closed}");
    }
    // Paths of the server as a whole are not open to every namespace.
    for path in ["/openapi.json", "/nowhere"] {
        assert_eq!(status(&client, path, &tenant).await, 403, "{path}");
    }
    assert_eq!(status(&client, "/version", &tenant).await, 200);
    for token in [ADMIN, TOKEN] {
        assert_eq!(status(&client, "/openapi.json", token).await, 200);
        assert_eq!(status(&client, "/nowhere", token).await, 404);
    }
    let path = format!("/openapi.json?token={TOKEN}");
    assert_eq!(status(&client, &path, "").await, 200);
    client.stop().await;
}

/// The test client checks that the OpenAPI document lists every status that it gets.
#[tokio::test]
async fn documented_operations_list_401_and_403() {
    let folder = folder();
    let settings = Settings {
        require_token: true,
        ..settings(folder.path())
    };
    let client = Client::with_token(settings, TOKEN).await;
    let tenant = create(&client, "tenant").await;
    let document = client
        .get(&format!("/openapi.json?token={TOKEN}"))
        .await
        .ok();
    for (template, item) in document["paths"]
        .as_object()
        .expect("the document has paths")
    {
        let path = template.replace(['{', '}'], "");
        let is_open = matches!(&*path, "/" | "/page/file" | "/livez" | "/readyz" | "/ping")
            || path.ends_with("/health")
            || path == "/docs/"
            || path.starts_with("/explorer")
            || path.starts_with("/-/");
        let is_of_namespaces = ["/rpc", "/subscribe", "/import", "/version"].contains(&&*path);
        for method in item
            .as_object()
            .expect("the operations are an object")
            .keys()
        {
            let method: Method = method.to_uppercase().parse().expect("the method is valid");
            let request = || client.request(method.clone(), &path);
            if is_open {
                let status = client.send(request(), "").await.status;
                assert!(status != 401 && status != 403, "{method} {path}: {status}");
                continue;
            }
            assert_eq!(client.send(request(), "").await.status, 401, "{path}");
            if !is_of_namespaces {
                let bearer = format!("Bearer {tenant}");
                let request = request().header(header::AUTHORIZATION, bearer);
                assert_eq!(client.send(request, "").await.status, 403, "{path}");
            }
        }
    }
    client.stop().await;
}
