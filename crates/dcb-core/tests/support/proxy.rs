//! A connection that breaks, or falls silent, at the worst moments.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Where the connection with a request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The request does not reach the server.
    BeforeRequest,
    /// The request reaches the server, and the client is cut off at once.
    AfterRequest,
    /// The server has answered, and the answer does not reach the client.
    BeforeAnswer,
    /// The request does not reach the server, and the connection stays open without a word.
    Silence,
}

/// The requests that break their connections.
struct Plan {
    /// They contain this.
    words: &'static str,
    cut: Cut,
    /// How many are still to come.
    left: usize,
}

type Planned = Mutex<Option<Plan>>;

/// A TCP proxy in front of a server.
pub(crate) struct Proxy {
    url: String,
    planned: Arc<Planned>,
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
        let planned = Arc::new(Mutex::new(None));
        let own = Arc::clone(&planned);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, planned) = (server.clone(), Arc::clone(&own));
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(server).await {
                        // Either side ends the connection by an error or by closing it.
                        let _ = relay(client, server, &planned).await;
                    }
                });
            }
        });
        Self {
            url: format!("{before}@{address}/{database}"),
            planned,
            accepting,
        }
    }

    /// The server's URL through this proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Breaks the connection that carries the next request.
    pub(crate) fn cut(&self, cut: Cut) {
        self.cut_at("", cut, 1);
    }

    /// Breaks the connections that carry the next so many requests with these words.
    pub(crate) fn cut_at(&self, words: &'static str, cut: Cut, times: usize) {
        let left = times;
        *self.planned.lock().unwrap() = Some(Plan { words, cut, left });
    }

    /// Lets everything pass.
    pub(crate) fn pass(&self) {
        *self.planned.lock().unwrap() = None;
    }

    /// Whether all that was to break has broken.
    pub(crate) fn has_cut(&self) -> bool {
        self.planned.lock().unwrap().is_none()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// What becomes of the connection with this request.
fn cut_by(planned: &Planned, request: &[u8]) -> Option<Cut> {
    let mut planned = planned.lock().unwrap();
    let plan = planned.as_mut()?;
    let words = plan.words.as_bytes();
    if !words.is_empty() && !request.windows(words.len()).any(|part| part == words) {
        return None;
    }
    let cut = plan.cut;
    plan.left -= 1;
    if plan.left == 0 {
        *planned = None;
    }
    Some(cut)
}

async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    planned: &Planned,
) -> std::io::Result<()> {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let request = &up[..read?];
                if request.is_empty() {
                    return Ok(());
                }
                match cut_by(planned, request) {
                    None => server.write_all(request).await?,
                    Some(Cut::BeforeRequest) => return Ok(()),
                    Some(Cut::AfterRequest) => return server.write_all(request).await,
                    Some(Cut::BeforeAnswer) => {
                        server.write_all(request).await?;
                        let answer = server.read(&mut down).await?;
                        assert!(answer > 0, "the server answers");
                        return Ok(());
                    }
                    Some(Cut::Silence) => std::future::pending().await,
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
