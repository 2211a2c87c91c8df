//! An event store in a SQLite file, served to the clients of UmaDB until Ctrl-C.
//!
//! ```text
//! cargo run -p dcb-grpc --example event_server
//! ```

use dcb_core::AnyStore;
use dcb_grpc::Server;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = AnyStore::open("events.db").await?;
    let listener = TcpListener::bind("127.0.0.1:50051").await?;
    let stop = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    Server::new(store).serve(listener, stop).await?;
    Ok(())
}
