//! A proxy through which a test runs SQL inside the sessions of other clients.

use std::future::pending;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// A TCP proxy in front of a server. It forwards all bytes. It can also run statements in each
/// session; the client does not see their answers.
///
/// Tests use it to bring a session into a state that a pooler, an administrator or a changed table
/// can cause, and to make connections silent.
pub struct SessionProxy {
    url: String,
    sessions: Sessions,
    silence: Arc<Silence>,
    accepting: JoinHandle<()>,
}

/// The connections that carry nothing any more.
struct Silence {
    /// The number of connections that are silent, the oldest first.
    oldest: watch::Sender<usize>,
    /// Whether new connections are silent too.
    of_new: AtomicBool,
}

type Sessions = Arc<Mutex<Vec<mpsc::UnboundedSender<Order>>>>;

/// A statement to run in one session.
struct Order {
    sql: String,
    done: oneshot::Sender<()>,
}

impl SessionProxy {
    /// Starts a proxy in front of the server at `url`, which has the form
    /// `scheme://user:password@host:port/database`.
    ///
    /// # Panics
    /// If the URL has another form, or no port is free.
    pub async fn start(url: &str) -> Self {
        let (before, rest) = url.rsplit_once('@').expect("the URL has a user");
        let (server, database) = rest.split_once('/').expect("the URL has a database");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let sessions = Sessions::default();
        let silence = Arc::new(Silence {
            oldest: watch::Sender::new(0),
            of_new: AtomicBool::new(false),
        });
        let accepting = accept(
            listener,
            server.to_owned(),
            Arc::clone(&sessions),
            Arc::clone(&silence),
        );
        Self {
            // The proxy reads the server's messages, so they must not be encrypted.
            url: format!("{before}@{address}/{database}?sslmode=disable"),
            accepting: tokio::spawn(accepting),
            silence,
            sessions,
        }
    }

    /// The URL of the server through this proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs the statements in every open session, and returns the number of sessions. Errors of the
    /// statements are ignored. No client may be waiting for an answer at that time.
    pub async fn run(&self, sql: &str) -> usize {
        let sessions = self.sessions();
        let mut reached = 0;
        for session in sessions {
            let (done, answered) = oneshot::channel();
            let sql = sql.to_owned();
            // Both fail for a session that has ended.
            if session.send(Order { sql, done }).is_ok() && answered.await.is_ok() {
                reached += 1;
            }
        }
        reached
    }

    /// Makes all open connections silent, as a firewall does that forgets them: they stay open and
    /// carry nothing. New ones pass.
    pub fn silence(&self) {
        let count = self.sessions().len();
        self.silence.oldest.send_replace(count);
    }

    /// Makes connections silent from their beginning, or lets new ones pass again.
    pub fn silence_new(&self, is_silent: bool) {
        self.silence.of_new.store(is_silent, Ordering::SeqCst);
    }

    fn sessions(&self) -> Vec<mpsc::UnboundedSender<Order>> {
        let sessions = self.sessions.lock();
        sessions.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SessionProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, server: String, sessions: Sessions, silence: Arc<Silence>) {
    while let Ok((client, _)) = listener.accept().await {
        let (session, orders) = mpsc::unbounded_channel();
        let mut known = sessions.lock().unwrap_or_else(PoisonError::into_inner);
        known.push(session);
        let number = known.len();
        drop(known);
        let server = server.clone();
        let mut silent = silence.oldest.subscribe();
        let is_silent = silence.of_new.load(Ordering::SeqCst);
        tokio::spawn(async move {
            let falls_silent = async move {
                if !is_silent {
                    let _ = silent.wait_for(|oldest| number <= *oldest).await;
                }
            };
            if let Ok(server) = TcpStream::connect(server).await {
                // Ends when either side closes the connection or fails.
                let _ = relay(client, server, orders, falls_silent).await;
            }
        });
    }
}

async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    mut orders: mpsc::UnboundedReceiver<Order>,
    falls_silent: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut falls_silent = pin!(falls_silent);
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            biased;
            () = &mut falls_silent => return pending().await,
            read = client.read(&mut up) => match read? {
                0 => return Ok(()),
                bytes => server.write_all(&up[..bytes]).await?,
            },
            read = server.read(&mut down) => match read? {
                0 => return Ok(()),
                bytes => client.write_all(&down[..bytes]).await?,
            },
            Some(order) = orders.recv() => {
                run(&mut server, &order.sql).await?;
                // The test may have given up.
                let _ = order.done.send(());
            }
        }
    }
}

/// Runs statements as one message of the simple protocol, and reads the answer to its end.
async fn run(server: &mut TcpStream, sql: &str) -> io::Result<()> {
    const READY_FOR_QUERY: u8 = b'Z';
    // The length counts itself and the final NUL, but not the type.
    let length = (sql.len() + 5) as u32;
    let query = [b"Q", &length.to_be_bytes()[..], sql.as_bytes(), b"\0"].concat();
    server.write_all(&query).await?;
    loop {
        let kind = server.read_u8().await?;
        let length = server.read_u32().await?;
        let mut body = vec![0; length as usize - 4];
        server.read_exact(&mut body).await?;
        if kind == READY_FOR_QUERY {
            return Ok(());
        }
    }
}
