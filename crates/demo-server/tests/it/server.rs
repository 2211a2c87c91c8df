//! The server itself: health, errors of no interface, bounds, start and stop.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};

use axum::http::{Method, StatusCode, header};
use demo_server::{OpenError, Server, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::Client;

#[tokio::test]
async fn health_answers_once_the_stores_do() {
    let client = Client::start().await;
    assert_eq!(client.get("/health").await.text(), r#"{"status":"ok"}"#);
    client.stop().await;
}

#[tokio::test]
async fn an_unknown_path_is_json_with_a_code() {
    let client = Client::start().await;
    let answer = client.get("/nowhere").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.json()["code"], "NOT_FOUND");
    client.stop().await;
}

#[tokio::test]
async fn a_method_that_a_path_does_not_take_is_json_and_names_those_it_takes() {
    let client = Client::start().await;
    let request = client.request(Method::DELETE, "/openapi.json");
    let answer = client.send(request, "").await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer.json()["code"], "METHOD_NOT_ALLOWED");
    assert_eq!(answer.headers[header::ALLOW], "GET,HEAD");
    client.stop().await;
}

#[tokio::test]
async fn the_description_can_be_browsed_without_the_internet() {
    let client = Client::start().await;
    let page = client.get("/docs/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(!page.text().contains("https://"), "{}", page.text());
    let document = client.get("/openapi.json").await.ok();
    assert_eq!(document["openapi"], "3.1.0");
    client.stop().await;
}

#[tokio::test]
async fn a_body_beyond_the_bound_is_refused_whether_it_says_its_length_or_not() {
    let settings = Settings {
        max_body_bytes: 1000,
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("it starts");
    let announced = "POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n";
    let answer = exchange(server.address(), announced.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains(r#""code":"BODY_TOO_LARGE""#), "{answer}");
    let chunk = "x".repeat(0x200);
    let unannounced = format!(
        "POST /nowhere HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n\
         200\r\n{chunk}\r\n200\r\n{chunk}\r\n0\r\n\r\n"
    );
    let answer = exchange(server.address(), unannounced.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn nobody_waits_for_the_body_of_a_request_without_a_token() {
    let settings = Settings {
        require_token: true,
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("it starts");
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
async fn a_body_that_does_not_arrive_is_given_up() {
    let settings = Settings {
        body_timeout_s: 1,
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("it starts");
    let half = "POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf";
    let answer = exchange(server.address(), half.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains(r#""code":"BODY_TIMEOUT""#), "{answer}");
    server.stop().await;
}

/// What bounds a connection in time is of version 1: one of version 2 would be open for ever.
#[tokio::test]
async fn version_2_of_http_is_not_spoken() {
    let server = Server::start(Settings::in_memory())
        .await
        .expect("it starts");
    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("a connection");
    // With a frame of settings, which are empty.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    stream.write_all(preface).await.expect("it is sent");
    let mut answer = [0; 64];
    let read = stream.read(&mut answer).await.unwrap_or(0);
    let answer = &answer[..read];
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"),
        "{answer:?}"
    );
    server.stop().await;
}

/// With no turn to be had, as many wait as may, and all others are told to try again.
#[tokio::test]
async fn who_finds_the_queue_full_is_told_to_try_again() {
    const WAITING: usize = 512;
    const TOO_MANY: usize = 20;
    let settings = Settings {
        max_requests: 0,
        max_waiting: WAITING,
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("it starts");
    let address = server.address();
    let mut requests = JoinSet::new();
    for _ in 0..WAITING + TOO_MANY {
        requests.spawn(async move {
            exchange(address, b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n").await
        });
    }
    for _ in 0..TOO_MANY {
        let answer = requests
            .join_next()
            .await
            .expect("one more")
            .expect("no panic");
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("retry-after: 1"), "{answer}");
        assert!(answer.contains(r#""code":"OVERLOADED""#), "{answer}");
    }
    assert_eq!(requests.len(), WAITING);
    // It can be watched all the same.
    let health = exchange(address, b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    requests.shutdown().await;
    server.stop().await;
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_refused_and_a_later_one_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = || Settings {
        data: Some(folder.path().to_owned()),
        ..Settings::in_memory()
    };
    let first = Server::start(settings()).await.expect("it starts");
    let second = Server::start(settings()).await;
    let Err(refused) = second else {
        panic!("two servers on one folder");
    };
    assert!(matches!(refused, OpenError::FolderInUse { .. }));
    assert!(refused.to_string().contains("--data"), "{refused}");
    first.stop().await;
    Server::start(settings())
        .await
        .expect("it starts")
        .stop()
        .await;
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let first = Server::start(Settings::in_memory())
        .await
        .expect("it starts");
    let settings = Settings {
        port: first.address().port(),
        ..Settings::in_memory()
    };
    let Err(refused) = Server::start(settings).await else {
        panic!("two servers on one port");
    };
    let address = first.address().to_string();
    assert!(refused.to_string().contains(&address), "{refused}");
    first.stop().await;
}

#[tokio::test]
async fn another_address_than_loopback_needs_a_token() {
    let settings = Settings {
        listen: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        ..Settings::in_memory()
    };
    let refused = Server::start(settings).await.err().expect("a refusal");
    assert!(refused.to_string().contains("--require-token"), "{refused}");
}

/// A request whose body is under way when the server stops is answered before it ends.
#[tokio::test]
async fn a_request_under_way_is_answered_before_the_server_ends() {
    let server = Server::start(Settings::in_memory())
        .await
        .expect("it starts");
    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("a connection");
    let head = b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nha";
    stream.write_all(head).await.expect("it is sent");
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let stopping = tokio::spawn(server.stop());
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    stream.write_all(b"lf").await.expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    stopping.await.expect("it stops");
}

/// Who is told that it runs may stop it at once, and it ends in order all the same.
#[test]
fn a_signal_right_after_the_greeting_stops_it_in_order() {
    const SCRIPT: &str = r#"mkfifo "$1" && { "$0" --test-mode --port 0 >"$1" & } &&
        exec 3<"$1" && read -r _ <&3 && kill -TERM $! && wait $!"#;
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..40 {
        let ended = Command::new("sh")
            .args(["-c", SCRIPT, env!("CARGO_BIN_EXE_demo-server")])
            .arg(folder.path().join(round.to_string()))
            .env_remove("DATABASE_URL")
            .stderr(Stdio::null())
            .status()
            .expect("a shell");
        assert!(ended.success(), "round {round}: {ended}");
    }
}

/// What a server answers to these bytes, up to the end of one answer.
async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    // A server that refuses early may close before all is sent.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while !answer.ends_with(b"}") {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => break,
            Ok(read) => answer.extend_from_slice(&part[..read]),
        }
    }
    String::from_utf8(answer).expect("text")
}
