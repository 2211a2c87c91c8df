//! A connection that breaks at the worst moments.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// When the connection of the next request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Cut {
    Never,
    /// The request does not reach the server.
    BeforeRequest,
    /// The request reaches the server, and the client is cut off at once.
    AfterRequest,
    /// The server has answered, and the answer does not reach the client.
    BeforeAnswer,
}

/// A TCP proxy in front of a server.
pub(crate) struct Proxy {
    url: String,
    next: Arc<AtomicU8>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// In front of the server of this URL, which has the form `scheme://user@host:port/database`.
    pub(crate) async fn start(url: &str) -> Self {
        let (before, rest) = url.split_once('@').expect("a user");
        let (server, database) = rest.split_once('/').expect("a database");
        let server = server.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let next = Arc::new(AtomicU8::new(Cut::Never as u8));
        let cut = Arc::clone(&next);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, cut) = (server.clone(), Arc::clone(&cut));
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(server).await {
                        // Either side ends the connection by an error or by closing it.
                        let _ = relay(client, server, &cut).await;
                    }
                });
            }
        });
        Self {
            url: format!("{before}@{address}/{database}"),
            next,
            accepting,
        }
    }

    /// The server's URL through this proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Breaks the connection that carries the next request.
    pub(crate) fn cut(&self, cut: Cut) {
        self.next.store(cut as u8, Ordering::SeqCst);
    }

    /// Whether the connection has been broken.
    pub(crate) fn has_cut(&self) -> bool {
        self.next.load(Ordering::SeqCst) == Cut::Never as u8
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    next: &AtomicU8,
) -> std::io::Result<()> {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let request = &up[..read?];
                if request.is_empty() {
                    return Ok(());
                }
                match next.swap(Cut::Never as u8, Ordering::SeqCst) {
                    cut if cut == Cut::BeforeRequest as u8 => return Ok(()),
                    cut if cut == Cut::AfterRequest as u8 => return server.write_all(request).await,
                    cut if cut == Cut::BeforeAnswer as u8 => {
                        server.write_all(request).await?;
                        let answer = server.read(&mut down).await?;
                        assert!(answer > 0, "the server answers");
                        return Ok(());
                    }
                    _ => server.write_all(request).await?,
                }
            }
            read = server.read(&mut down) => {
                let answer = &down[..read?];
                if answer.is_empty() {
                    return Ok(());
                }
                client.write_all(answer).await?;
            }
        }
    }
}
