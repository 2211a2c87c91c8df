//! A connection that ends, or falls silent, where a certain statement is sent.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What becomes of the connection. The statement does not reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Cut,
    /// It stays open, and nothing is answered any more.
    Silence,
}

/// The words of the statement, and how many of these are trapped.
type Set = Option<(&'static str, Then, usize)>;

/// A TCP proxy in front of a server.
pub(crate) struct Trap {
    url: String,
    set: Arc<Mutex<Set>>,
    accepting: JoinHandle<()>,
}

impl Trap {
    /// In front of the server of this URL, which has the form `scheme://user@host:port/database`.
    pub(crate) async fn start(url: &str) -> Self {
        let (before, rest) = url.split_once('@').expect("a user");
        let (server, database) = rest.split_once('/').expect("a database");
        let server = server.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let set = Arc::new(Mutex::new(None));
        let own = Arc::clone(&set);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, set) = (server.clone(), Arc::clone(&own));
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(server).await {
                        // Either side ends the connection by an error or by closing it.
                        let _ = relay(client, server, &set).await;
                    }
                });
            }
        });
        Self {
            url: format!("{before}@{address}/{database}"),
            set,
            accepting,
        }
    }

    /// The server's URL through this proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits for so many statements with these words.
    pub(crate) fn set(&self, words: &'static str, then: Then, times: usize) {
        *self.set.lock().unwrap() = Some((words, then, times));
    }

    /// Lets everything pass.
    pub(crate) fn unset(&self) {
        *self.set.lock().unwrap() = None;
    }

    /// Whether all that it waited for has come.
    pub(crate) fn has_sprung(&self) -> bool {
        self.set.lock().unwrap().is_none()
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// What becomes of a connection with this request.
fn caught(set: &Mutex<Set>, request: &[u8]) -> Option<Then> {
    let mut set = set.lock().unwrap();
    let (words, then, left) = set.as_mut()?;
    let then = *then;
    let mut parts = request.windows(words.len());
    if !parts.any(|part| part == words.as_bytes()) {
        return None;
    }
    *left -= 1;
    if *left == 0 {
        *set = None;
    }
    Some(then)
}

async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    set: &Mutex<Set>,
) -> std::io::Result<()> {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let request = &up[..read?];
                if request.is_empty() {
                    return Ok(());
                }
                match caught(set, request) {
                    Some(Then::Cut) => return Ok(()),
                    Some(Then::Silence) => std::future::pending().await,
                    None => server.write_all(request).await?,
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
