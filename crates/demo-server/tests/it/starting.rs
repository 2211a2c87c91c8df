//! A server whose stores are not open yet.

use std::time::Duration;

use demo_server::{Server, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::program::free_port;

async fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut answer));
    read.await.ok()?.ok()?;
    Some(answer)
}

/// The server once accepted no connection before its stores were open. Here, the database accepts a
/// connection and never answers.
#[tokio::test(flavor = "multi_thread")]
async fn process_answers_while_its_stores_open() {
    let database = TcpListener::bind("127.0.0.1:0").await;
    let database = database.expect("a port is free");
    let address = database.local_addr().expect("it is bound");
    let port = free_port();
    let settings = Settings {
        port,
        database_url: Some(format!("postgres://nobody@{address}/none")),
        ..Settings::in_memory()
    };
    let start = tokio::spawn(Server::start(settings));
    let (_silent, _) = database.accept().await.expect("the server connects");
    for path in ["/livez", "/-/healthy"] {
        let alive = get(port, path).await.expect("an answer");
        assert!(alive.starts_with("HTTP/1.1 200"), "{alive}");
        assert!(alive.ends_with("Registrar is starting.\n"), "{alive}");
    }
    for path in ["/readyz", "/health", "/dcb/read", "/nowhere"] {
        let refused = get(port, path).await.expect("an answer");
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        for part in ["retry-after: 1", "STARTING", "connection: close"] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
    }
    start.abort();
    assert!(start.await.is_err_and(|ended| ended.is_cancelled()));
    // The address is free again.
    let listens = || async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        TcpStream::connect(("127.0.0.1", port)).await.is_ok()
    };
    for _ in 0..500 {
        if !listens().await {
            return;
        }
    }
    panic!("the server still listens");
}
