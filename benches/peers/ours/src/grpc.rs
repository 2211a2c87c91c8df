//! The event store behind UmaDB's protocol.

use dcb_core::{AnyStore, EventStore as _};
use dcb_grpc::Server;
use std::io;
use tokio::net::TcpListener;

/// Serves until stdin ends.
#[tokio::main]
pub(crate) async fn serve(url: &str, port: &str) -> io::Result<()> {
    let store = AnyStore::open(url).await.map_err(io::Error::other)?;
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    let (ended, stop) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // The end of stdin, or an error: the peer has gone.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = ended.send(());
    });
    let stop = async { drop(stop.await) };
    let served = Server::new(store.clone()).serve(listener, stop).await;
    store.close().await;
    served.map_err(io::Error::other)
}
