//! A network connection that a test can cut and mend.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A TCP relay in front of a port of this machine. While it is cut, it carries nothing: connections
/// stay open, and new ones get no answer, as in a network that loses all packets. Once it is mended,
/// they go on where they were.
///
/// It forwards bytes without looking at them. [`SessionProxy`](crate::SessionProxy) knows the
/// protocol.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    port: Arc<AtomicU16>,
    is_cut: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Wire {
    /// Starts a relay in front of `port`.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn start(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let is_cut = watch::Sender::new(false);
        let port = Arc::new(AtomicU16::new(port));
        let accepting = accept(listener, Arc::clone(&port), is_cut.clone());
        Self {
            accepting: tokio::spawn(accepting),
            address,
            port,
            is_cut,
        }
    }

    /// The address of the relay.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Leads new connections to another port, like a proxy or a name that follows the leader of a
    /// cluster.
    pub fn lead_to(&self, port: u16) {
        self.port.store(port, Ordering::SeqCst);
    }

    /// Carries nothing from now on.
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Carries everything again.
    pub fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, port: Arc<AtomicU16>, is_cut: watch::Sender<bool>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(relay(client, Arc::clone(&port), is_cut.subscribe()));
    }
}

async fn relay(client: TcpStream, port: Arc<AtomicU16>, mut is_cut: watch::Receiver<bool>) {
    until_mended(&mut is_cut).await;
    let port = port.load(Ordering::SeqCst);
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = carry(from_client, to_server, is_cut.clone()) => {}
        () = carry(from_server, to_client, is_cut) => {}
    }
}

/// Carries one direction to its end. A cut wire doesn't carry the end either.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_cut: watch::Receiver<bool>) {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut bytes).await;
        until_mended(&mut is_cut).await;
        let Ok(count @ 1..) = read else { return };
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

/// Returns at once while the wire carries, and when it no longer exists.
async fn until_mended(is_cut: &mut watch::Receiver<bool>) {
    let _ = is_cut.wait_for(|is_cut| !is_cut).await;
}
