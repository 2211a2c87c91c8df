//! Which token reaches what, and what a call without one is answered.

use axum::http::{Method, header};
use demo_server::{OpenError, Server, Settings};
use local_postgres::Durability;
use serde_json::{Value, json};

use super::{ADMIN, TOKEN, create, folder, read, settings, token_of, write};
use crate::support::Client;
use crate::support::rpc::{Events, assert_refused, rpc};

#[tokio::test]
async fn messages_ask_for_a_token() {
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
        // Another token of a namespace that is there, and one of a namespace that is not.
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
    // Everything else does not.
    client.get("/version").await.ok();
    client.stop().await;
}

#[tokio::test]
async fn a_token_comes_in_the_header_or_in_the_address() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let body = r#"["stream.version","a-1"]"#;
    let encoded = TOKEN.replace('_', "%5F");
    for query in [format!("?token={TOKEN}"), format!("?x=1&token={encoded}&y")] {
        let answer = client.post_bytes(&format!("/rpc{query}"), body).await;
        assert_eq!(answer.ok(), Value::Null, "{query}");
    }
    for scheme in ["Bearer", "bearer", "Token"] {
        let request = client.request(Method::POST, "/rpc");
        let request = request.header(header::AUTHORIZATION, format!("{scheme} {TOKEN}"));
        assert_eq!(client.send(request, body).await.ok(), Value::Null);
    }
    let empty = client.post_bytes("/rpc?token=", body).await;
    assert_refused(&empty, 401, "AUTH_REQUIRED");
    let twice = format!("/rpc?token={TOKEN}&token={TOKEN}");
    assert_refused(
        &client.post_bytes(&twice, body).await,
        401,
        "AUTH_INVALID_TOKEN",
    );
    write(&client, TOKEN, json!(1)).await.ok();
    let path = format!("/subscribe?all=true&token={TOKEN}");
    let response = client.open(client.request(Method::GET, &path)).await;
    assert_eq!(Events::of(response).pokes(1).await.len(), 1);
    client.stop().await;
}

#[tokio::test]
async fn a_token_reaches_its_own_namespace_alone() {
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
    // The secret of one with the name of the other.
    let (_, secret) = one.rsplit_once('_').expect("a secret");
    let (name, _) = two.rsplit_once('_').expect("a secret");
    let mixed = write(&client, &format!("{name}_{secret}"), json!(3)).await;
    assert_refused(&mixed, 403, "AUTH_UNAUTHORIZED");
    client.stop().await;
}

#[tokio::test]
async fn tokens_that_are_made_are_shown_once() {
    let folder = folder();
    let settings = Settings {
        token: None,
        admin_token: None,
        ..settings(folder.path())
    };
    let client = Client::with(settings.clone()).await;
    let shown = |greeting: &str, what: &str| {
        let line = greeting.lines().find(|line| line.starts_with(what))?;
        line.rsplit_once(": ").map(|(_, token)| token.to_owned())
    };
    let greeting = client.greeting();
    let own = shown(&greeting, "token of the namespace default").expect("a token");
    let admin = shown(&greeting, "administration token").expect("a token");
    write(&client, &own, json!(1)).await.ok();
    rpc(&client, &admin, json!(["ns.list"])).await.ok();
    assert_refused(
        &rpc(&client, &own, json!(["ns.list"])).await,
        403,
        "AUTH_UNAUTHORIZED",
    );
    client.stop().await;

    let client = Client::with(settings).await;
    let greeting = client.greeting();
    assert_eq!(shown(&greeting, "token of the namespace default"), None);
    let new = shown(&greeting, "administration token").expect("a token");
    assert_eq!(read(&client, &own).await, [json!(1)]);
    rpc(&client, &new, json!(["ns.list"])).await.ok();
    let old = rpc(&client, &admin, json!(["ns.list"])).await;
    assert_refused(&old, 401, "AUTH_INVALID_TOKEN");
    client.stop().await;
}

/// It is shown by a server that runs, or not made.
#[tokio::test]
async fn a_start_that_fails_makes_no_token() {
    let folder = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let settings = Settings {
        token: None,
        port: taken.local_addr().expect("an address").port(),
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

/// Each of them finds no namespace `default`, and one makes it.
#[tokio::test(flavor = "multi_thread")]
async fn of_servers_that_start_at_once_none_shows_a_token_that_opens_nothing() {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    let server = server.expect("a PostgreSQL");
    for _ in 0..3 {
        let database = server.create_database("tokens").await.expect("a database");
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
async fn the_token_of_default_may_be_any_text_but_that_of_another_namespace() {
    let folder = folder();
    let with = |token: &str| Settings {
        token: Some(token.to_owned()),
        ..settings(folder.path())
    };
    let client = Client::with(with("any text")).await;
    write(&client, "any text", json!(1)).await.ok();
    client.stop().await;
    for token in ["", &token_of("dGVuYW50", '0')] {
        let refused = Server::start(with(token)).await.err().expect("a refusal");
        assert!(!refused.to_string().contains(&"0".repeat(16)), "{refused}");
    }
}

/// The status of an answer, whatever is described.
async fn status(client: &Client, path: &str, token: &str) -> u16 {
    let mut request = client.request(Method::GET, path);
    if !token.is_empty() {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    client.open(request).await.status().as_u16()
}

#[tokio::test]
async fn everything_may_ask_for_a_token() {
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
    // The page's own files are open too, wherever they are.
    for open in ["/", "/page/main.js"] {
        assert_ne!(status(&client, open, "").await, 401, "{open}");
    }
    let wrong = token_of("ZGVmYXVsdA", '1');
    for closed in [
        "/openapi.json",
        "/docs/",
        "/nowhere",
        "/dcb/nowhere",
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
    // What is no namespace's own is not for every namespace.
    for path in ["/openapi.json", "/nowhere", "/docs/"] {
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

/// Every operation that asks says so: the client checks that a status is described.
#[tokio::test]
async fn who_is_refused_finds_it_described() {
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
    for (template, item) in document["paths"].as_object().expect("paths") {
        let path = template.replace(['{', '}'], "");
        let is_open = matches!(&*path, "/" | "/page/file") || path.ends_with("/health");
        let is_of_namespaces = ["/rpc", "/subscribe", "/import", "/version"].contains(&&*path);
        for method in item.as_object().expect("operations").keys() {
            let method: Method = method.to_uppercase().parse().expect("a method");
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
