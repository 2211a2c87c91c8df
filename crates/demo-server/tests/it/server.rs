//! The server itself: health, errors outside the interfaces, limits, start and stop.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};

use axum::http::{Method, StatusCode, header};
use conformance_suite::effort_up_to;
use demo_server::{OpenError, Server, Settings};
use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::Client;

#[tokio::test]
async fn health_is_ok_after_the_start() {
    let client = Client::start().await;
    assert_eq!(client.get("/health").await.text(), r#"{"status":"ok"}"#);
    client.stop().await;
}

#[tokio::test]
async fn unknown_path_is_404_with_a_code() {
    let client = Client::start().await;
    let answer = client.get("/nowhere").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.json()["code"], "NOT_FOUND");
    client.stop().await;
}

#[tokio::test]
async fn wrong_method_is_405_and_allowed_methods_are_named() {
    let client = Client::start().await;
    let request = client.request(Method::DELETE, "/openapi.json");
    let answer = client.send(request, "").await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer.json()["code"], "METHOD_NOT_ALLOWED");
    assert_eq!(answer.headers[header::ALLOW], "GET,HEAD");
    client.stop().await;
}

#[tokio::test]
async fn docs_load_nothing_from_the_internet() {
    let client = Client::start().await;
    let page = client.get("/docs/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(!page.text().contains("https://"), "{}", page.text());
    // The page passes on the token of its own URL.
    let script = client.request(Method::GET, "/docs/swagger-initializer.js");
    let script = client.open(script).await.into_body().collect().await;
    let script = script.expect("the file is complete").to_bytes();
    assert!(String::from_utf8_lossy(&script).contains("location.search"));
    let document = client.get("/openapi.json").await.ok();
    assert_eq!(document["openapi"], "3.1.0");
    client.stop().await;
}

#[tokio::test]
async fn body_above_the_limit_is_413_with_or_without_content_length() {
    let settings = Settings {
        max_body_bytes: 1000,
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("the server starts");
    let with_length = "POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n";
    let answer = exchange(server.address(), with_length.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains(r#""code":"BODY_TOO_LARGE""#), "{answer}");
    let chunk = "x".repeat(0x200);
    let without_length = format!(
        "POST /nowhere HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n\
         200\r\n{chunk}\r\n200\r\n{chunk}\r\n0\r\n\r\n"
    );
    let answer = exchange(server.address(), without_length.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn missing_token_is_rejected_before_the_body_arrives() {
    let settings = Settings {
        require_token: true,
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("the server starts");
    for (token, code) in [
        ("", "AUTH_REQUIRED"),
        ("authorization: Bearer x\r\n", "AUTH_INVALID_TOKEN"),
    ] {
        for path in ["/dcb/append", "/rpc", "/import", "/series/write"] {
            let half =
                format!("POST {path} HTTP/1.1\r\nhost: x\r\n{token}content-length: 10\r\n\r\nhalf");
            let answer = exchange(server.address(), half.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 401"), "{path}: {answer}");
            assert!(answer.contains(code), "{path}: {answer}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn unfinished_body_times_out() {
    let settings = Settings {
        body_timeout_s: 1,
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("the server starts");
    let half = "POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf";
    let answer = exchange(server.address(), half.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains(r#""code":"BODY_TIMEOUT""#), "{answer}");
    // Senders of samples drop what a 4xx answers, but these samples have to be sent again.
    let half = "POST /api/v1/write HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf";
    let answer = exchange(server.address(), half.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    server.stop().await;
}

/// The server takes a slot for a request only after it has read the body. So another request can
/// run in the only slot while the first body arrives.
#[tokio::test]
async fn slow_sender_holds_no_request_slot() {
    let settings = Settings {
        max_requests: 1,
        max_waiting: 0,
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("the server starts");
    let mut slow = TcpStream::connect(server.address())
        .await
        .expect("the server accepts the connection");
    let head = b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nha";
    slow.write_all(head).await.expect("the bytes are sent");
    // Long enough for the server to have begun with the request.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let get = b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n";
    let answer = exchange(server.address(), get).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    drop(slow);
    server.stop().await;
}

/// The connection timeouts work only for HTTP/1. An HTTP/2 connection could stay open forever.
#[tokio::test]
async fn http_2_is_rejected() {
    let server = Server::start(Settings::in_memory())
        .await
        .expect("the server starts");
    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("the server accepts the connection");
    // An HTTP/2 connection begins with this preface and a SETTINGS frame, here an empty one.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    stream.write_all(preface).await.expect("the bytes are sent");
    let mut answer = [0; 64];
    let read = stream.read(&mut answer).await.unwrap_or(0);
    let answer = &answer[..read];
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"),
        "{answer:?}"
    );
    server.stop().await;
}

/// All request slots are taken. `max_waiting` requests wait in the queue, and further ones are
/// rejected.
#[tokio::test]
async fn full_queue_is_503_with_retry_after() {
    const TOO_MANY: usize = 20;
    let waiting = effort_up_to(64, 512);
    let settings = Settings {
        max_requests: 0,
        max_waiting: waiting,
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("the server starts");
    let address = server.address();
    let mut requests = JoinSet::new();
    for _ in 0..waiting + TOO_MANY {
        requests.spawn(async move {
            exchange(address, b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n").await
        });
    }
    for _ in 0..TOO_MANY {
        let answer = requests
            .join_next()
            .await
            .expect("another request finishes")
            .expect("the task does not panic");
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("retry-after: 1"), "{answer}");
        assert!(answer.contains(r#""code":"OVERLOADED""#), "{answer}");
    }
    assert_eq!(requests.len(), waiting);
    // Health checks skip the queue.
    let health = exchange(address, b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    requests.shutdown().await;
    server.stop().await;
}

#[tokio::test]
async fn data_folder_admits_one_server_at_a_time() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let settings = || Settings {
        data: Some(folder.path().to_owned()),
        ..Settings::in_memory()
    };
    let first = Server::start(settings()).await.expect("the server starts");
    let second = Server::start(settings()).await;
    let Err(refused) = second else {
        panic!("two servers share a folder");
    };
    assert!(matches!(refused, OpenError::FolderInUse { .. }));
    assert!(refused.to_string().contains("--data"), "{refused}");
    first.stop().await;
    Server::start(settings())
        .await
        .expect("the server starts")
        .stop()
        .await;
}

#[tokio::test]
async fn start_on_a_taken_port_names_the_address_and_makes_nothing() {
    let first = Server::start(Settings::in_memory())
        .await
        .expect("the server starts");
    let folder = tempfile::tempdir().expect("the folder exists");
    let data = folder.path().join("data");
    let settings = Settings {
        port: first.address().port(),
        data: Some(data.clone()),
        ..Settings::in_memory()
    };
    let Err(refused) = Server::start(settings).await else {
        panic!("two servers share a port");
    };
    let address = first.address().to_string();
    assert!(refused.to_string().contains(&address), "{refused}");
    // The server once opened its stores before it tried the port.
    assert!(!data.exists());
    first.stop().await;
}

#[tokio::test]
async fn listening_beyond_loopback_needs_require_token() {
    let settings = Settings {
        listen: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        ..Settings::in_memory()
    };
    let refused = Server::start(settings)
        .await
        .err()
        .expect("the start fails");
    assert!(refused.to_string().contains("--require-token"), "{refused}");
}

#[tokio::test]
async fn too_little_memory_for_subscribers_is_refused() {
    let settings = Settings {
        max_subscriptions: 1000,
        subscriber_bytes: 1 << 20,
        ..Settings::in_memory()
    };
    let refused = Server::start(settings)
        .await
        .err()
        .expect("the start fails");
    for part in ["--subscriber-bytes", "--max-subscriptions", "16384000"] {
        assert!(refused.to_string().contains(part), "{refused}");
    }
}

/// The body of the request is incomplete when the server begins to stop.
#[tokio::test]
async fn request_in_progress_is_answered_before_the_server_stops() {
    let server = Server::start(Settings::in_memory())
        .await
        .expect("the server starts");
    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("the server accepts the connection");
    let head = b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nha";
    stream.write_all(head).await.expect("the bytes are sent");
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let stopping = tokio::spawn(server.stop());
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    stream.write_all(b"lf").await.expect("the bytes are sent");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .await
        .expect("the server answers");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    stopping.await.expect("the server stops");
}

/// A program that reads the greeting may send a signal at once. So the server must install its
/// signal handlers before it prints the greeting.
#[test]
fn signal_right_after_the_greeting_stops_the_server_cleanly() {
    const SCRIPT: &str = r#"mkfifo "$1" && { "$0" --test-mode --port 0 >"$1" & } &&
        exec 3<"$1" && read -r _ <&3 && kill -TERM $! && wait $!"#;
    let folder = tempfile::tempdir().expect("the folder exists");
    for round in 0..effort_up_to(10, 40) {
        let ended = Command::new("sh")
            .args(["-c", SCRIPT, env!("CARGO_BIN_EXE_demo-server")])
            .arg(folder.path().join(round.to_string()))
            .env_remove("DATABASE_URL")
            .stderr(Stdio::null())
            .status()
            .expect("the shell runs");
        assert!(ended.success(), "round {round}: {ended}");
    }
}

/// `REGISTRAR_TEST_MODE=1` once was an error that named an option.
#[test]
fn switches_take_the_usual_values_from_the_environment() {
    let started = |value: &str| {
        Command::new(env!("CARGO_BIN_EXE_demo-server"))
            .args(["--listen", "0.0.0.0"])
            .env_remove("DATABASE_URL")
            // Without a token, this address is refused, so no server runs.
            .env("REGISTRAR_TEST_MODE", "on")
            .env("REGISTRAR_REQUIRE_TOKEN", value)
            .env("REGISTRAR_TOKEN", "")
            .output()
            .expect("the program runs")
    };
    for (values, expected) in [
        (
            &["1", "true", "yes", "on", "YES"][..],
            "a token must not be empty",
        ),
        (&["0", "false", "no", "off", ""], "add --require-token"),
        (
            &["maybe", "2", " "],
            "REGISTRAR_REQUIRE_TOKEN must be 1, true, yes or on",
        ),
    ] {
        for value in values {
            let output = started(value);
            assert!(!output.status.success(), "{value}");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(error.contains(expected), "{value}: {error}");
        }
    }
}

/// Sends bytes and returns the first response.
async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address)
        .await
        .expect("the server accepts the connection");
    // The server may reject the request and close before everything is sent.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while !answer.ends_with(b"}") {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => break,
            Ok(read) => answer.extend_from_slice(&part[..read]),
        }
    }
    String::from_utf8(answer).expect("it is UTF-8")
}
