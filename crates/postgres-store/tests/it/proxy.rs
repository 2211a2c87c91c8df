//! A proxy that counts the messages from clients to a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// Forwards between clients and a server until the runtime of the test ends.
pub(crate) struct Proxy {
    pub(crate) url: String,
    messages: Arc<AtomicUsize>,
}

impl Proxy {
    pub(crate) async fn start(url: &str) -> Self {
        let options: PgConnectOptions = url.parse().expect("a URL");
        let server = (options.get_host().to_owned(), options.get_port());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let messages = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&messages);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&server).await else {
                    return;
                };
                client.set_nodelay(true).expect("an open socket");
                server.set_nodelay(true).expect("an open socket");
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(forward(from_client, to_server, Arc::clone(&counted)));
                tokio::spawn(forward(from_server, to_client, Arc::default()));
            }
        });
        let address = format!("{}:{}", options.get_host(), options.get_port());
        assert!(url.contains(&address), "{url} contains host and port");
        Self {
            url: url.replace(&address, &format!("127.0.0.1:{port}")),
            messages,
        }
    }

    /// The number of socket reads from clients so far.
    pub(crate) fn messages(&self) -> usize {
        self.messages.load(Ordering::Relaxed)
    }
}

async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, messages: Arc<AtomicUsize>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        messages.fetch_add(1, Ordering::Relaxed);
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
