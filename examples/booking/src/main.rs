//! The service: `cargo run`, `cargo run -- folder`, or `cargo run -- postgres://localhost/hotel`. A second argument
//! is the address to listen on. SIGTERM and Ctrl-C stop it: requests and messages in progress are finished.
//!
//! ```text
//! curl -i localhost:8082/bookings -H 'content-type: application/json' -d '{"room": 7,
//!     "night": "2027-05-01", "guest": "Ada", "id": "0197a3c0-0000-7000-8000-000000000001"}'
//! curl localhost:8082/rooms/7
//! curl localhost:8082/metrics
//! ```

use std::io;

use booking::{AnyError, Service, router};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    tracing_subscriber::fmt::init();
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().unwrap_or("memory:".to_owned());
    let address = arguments.next().unwrap_or("127.0.0.1:8082".to_owned());
    let service = Service::open(&place).await?;
    let stop = watch::Sender::new(false);
    let working = tokio::spawn(work(service.clone(), stop.clone()));
    tokio::spawn(stop_at_signal(stop.clone()));
    let listener = tokio::net::TcpListener::bind(address).await?;
    tracing::info!(place, address = %listener.local_addr()?, "booking rooms");
    let mut stopped = stop.subscribe();
    axum::serve(listener, router(service.clone()))
        .with_graceful_shutdown(async move { drop(stopped.wait_for(|stopped| *stopped).await) })
        .await?;
    let ended = working.await?;
    service.close().await;
    ended
}

/// Works until the stop. Work that fails stops the service, so that its supervisor starts it again.
async fn work(service: Service, stop: watch::Sender<bool>) -> Result<(), AnyError> {
    let ended = service.work(stop.subscribe()).await;
    stop.send_replace(true);
    ended
}

async fn stop_at_signal(stop: watch::Sender<bool>) {
    match signals().await {
        Ok(()) => drop(stop.send_replace(true)),
        Err(error) => tracing::error!(%error, "signals can't be received"),
    }
}

/// Returns at Ctrl-C, or at the SIGTERM of a supervisor.
async fn signals() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}
