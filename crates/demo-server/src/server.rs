use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_io_timeout::TimeoutStream;

use crate::app::{App, OpenError};
use crate::settings::Settings;
use crate::{health, observe, router};

/// How long the head of a request may take, which bounds idle connections too.
const HEAD_LIMIT: Duration = Duration::from_secs(75);
/// How long a client may take nothing of what is sent.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// How long requests under way may take once the server stops.
const STOP_LIMIT: Duration = Duration::from_secs(10);
const MAX_CONNECTIONS: usize = 10_000;

/// A server that listens.
pub struct Server {
    app: Arc<App>,
    address: SocketAddr,
    stopping: watch::Sender<bool>,
    serving: JoinHandle<()>,
    watching: [JoinHandle<()>; 2],
}

impl Server {
    /// Opens the stores and listens.
    ///
    /// # Errors
    /// Those of [`App::open`], and [`OpenError::Listen`] where the address is taken.
    pub async fn start(settings: Settings) -> Result<Self, OpenError> {
        let stores = App::open_stores(&settings).await?;
        let address = settings.address();
        let listen = async {
            let listener = TcpListener::bind(address).await?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = listen
            .await
            .map_err(|source| OpenError::Listen { address, source })?;
        // Last, for what it makes is shown once, by a server that runs.
        let app = App::with(settings, stores).await?;
        let (stopping, stopped) = watch::channel(false);
        Ok(Self {
            watching: [
                tokio::spawn(health::watch(Arc::clone(&app), stopped.clone())),
                tokio::spawn(observe::keep(Arc::clone(&app), stopped.clone())),
            ],
            serving: tokio::spawn(serve(listener, Arc::clone(&app), stopped)),
            app,
            address,
            stopping,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a person who started it wants to know.
    pub fn greeting(&self) -> String {
        let place = &self.app.stores.place;
        let mut text = format!("http://{}\n{place}", self.address);
        let tokens = &self.app.tokens;
        if let Some(token) = tokens.made_for_admin() {
            text.push_str(&format!("\nadministration token (shown once): {token}"));
        }
        let made = self.app.namespaces.made_for_default();
        if let Some(token) = made.filter(|_| tokens.are_needed()) {
            text.push_str(&format!(
                "\ntoken of the namespace default (shown once): {token}"
            ));
        }
        text
    }

    /// Takes no more connections, answers the requests under way, ends the subscriptions, and
    /// closes the stores.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        for task in [self.serving].into_iter().chain(self.watching) {
            if let Err(failed) = task.await {
                tracing::error!(%failed, "the server ended badly");
            }
        }
        self.app.close().await;
    }
}

async fn serve(listener: TcpListener, app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    let router = router(&app);
    // Version 1 alone: the limit on heads is not for those of version 2, nor for the wait for what
    // tells them apart.
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT);
    let connections = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        let (stream, place) = match accepted {
            Ok(accepted) => accepted,
            Err(failed) => {
                // Out of file descriptors, most likely: those that end make room.
                tracing::warn!(%failed, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = connections.watch(connection.into_owned());
        tokio::spawn(async move {
            // A client that goes away in the middle is its own affair.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    app.end_subscriptions();
    if tokio::time::timeout(STOP_LIMIT, connections.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("requests were cut off: they took more than {STOP_LIMIT:?} to end");
    }
}

type Stream = std::pin::Pin<Box<TimeoutStream<TcpStream>>>;

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(Stream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await;
    let place = place.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_LIMIT));
    Ok((Box::pin(stream), place))
}
