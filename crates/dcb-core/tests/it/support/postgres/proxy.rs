//! A TCP proxy that breaks or silences connections at chosen requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The point at which the connection of a request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The request does not reach the server.
    BeforeRequest,
    /// The request reaches the server, and the connection closes at once.
    AfterRequest,
    /// The server answers, but the answer does not reach the client.
    BeforeAnswer,
    /// The request does not reach the server, and the connection stays open without traffic.
    Silence,
}

/// The requests whose connections break.
struct Plan {
    /// If set, only requests that contain this text break.
    text: &'static str,
    cut: Cut,
    /// The number of requests that are still to break.
    left: usize,
}

/// A plan begins when the one before it has ended.
type Planned = Mutex<VecDeque<Plan>>;

/// A TCP proxy in front of a server.
pub(crate) struct Proxy {
    url: String,
    planned: Arc<Planned>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy in front of the server at `url`, which has the form
    /// `scheme://user@host:port/database`.
    pub(crate) async fn start(url: &str) -> Self {
        let (before, rest) = url.split_once('@').expect("the URL has a user");
        let (server, database) = rest.split_once('/').expect("the URL has a database");
        let server = server.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let planned = Arc::new(Mutex::new(VecDeque::new()));
        let shared = Arc::clone(&planned);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, planned) = (server.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(server).await {
                        // Ends when either side closes the connection or fails.
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

    /// The URL of the server through this proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Breaks the connection that carries the next request.
    pub(crate) fn cut(&self, cut: Cut) {
        self.cut_at("", cut, 1);
    }

    /// Breaks the connections of the next `times` requests that contain `text`.
    pub(crate) fn cut_at(&self, text: &'static str, cut: Cut, times: usize) {
        self.pass();
        self.then_cut_at(text, cut, times);
    }

    /// As [`Proxy::cut_at`], once all requests that were planned before have broken.
    pub(crate) fn then_cut_at(&self, text: &'static str, cut: Cut, times: usize) {
        let left = times;
        let mut planned = self.planned.lock().unwrap();
        planned.push_back(Plan { text, cut, left });
    }

    /// Stops breaking connections.
    pub(crate) fn pass(&self) {
        self.planned.lock().unwrap().clear();
    }

    /// Whether all planned requests have broken.
    pub(crate) fn has_cut(&self) -> bool {
        self.planned.lock().unwrap().is_empty()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The way the connection of this request breaks, if it does.
fn cut_by(planned: &Planned, request: &[u8]) -> Option<Cut> {
    let mut planned = planned.lock().unwrap();
    let plan = planned.front_mut()?;
    let text = plan.text.as_bytes();
    if !text.is_empty() && !request.windows(text.len()).any(|part| part == text) {
        return None;
    }
    let cut = plan.cut;
    plan.left -= 1;
    if plan.left == 0 {
        planned.pop_front();
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
