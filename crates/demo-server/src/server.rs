use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::future::BoxFuture;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use store_http::Service;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;

use crate::app::{App, OpenError};
use crate::settings::Settings;
use crate::stores::Stores;
use crate::{grpc, health, observe, router, starting};

/// How long the head of a request may take. Also limits idle connections.
const HEAD_LIMIT: Duration = Duration::from_secs(75);
/// How long a client may go without reading any of the response.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// How long requests in progress may take after the server begins to stop.
const STOP_LIMIT: Duration = Duration::from_secs(10);
const MAX_CONNECTIONS: usize = 10_000;

/// A running server.
pub struct Server {
    app: App,
    address: SocketAddr,
    grpc_address: Option<SocketAddr>,
    stopping: watch::Sender<bool>,
    /// Serve, watch the stores and keep the server's own series. A drop ends them.
    tasks: JoinSet<()>,
}

impl Server {
    /// Opens the stores and listens.
    ///
    /// # Errors
    /// [`OpenError`] if the settings contradict each other, another server uses the data folder, a
    /// store can't be opened, or the address can't be bound.
    // Boxed, so that this crate compiles the opening of the stores once, and not each program.
    pub fn start(settings: Settings) -> BoxFuture<'static, Result<Self, OpenError>> {
        Box::pin(Self::open(settings))
    }

    async fn open(settings: Settings) -> Result<Self, OpenError> {
        App::check(&settings)?;
        // The address comes first, so that a start that fails because of it makes no files.
        let address = settings.address();
        let listen = async {
            let listener = TcpListener::bind(address).await?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = listen.await.map_err(|source| OpenError::Listen {
            address,
            option: "--port",
            source,
        })?;
        let grpc = grpc::Bound::of(&settings).await?;
        let grpc_address = grpc.as_ref().and_then(grpc::Bound::address);
        let (stopping, stopped) = watch::channel(false);
        let (served, routers) = watch::channel(starting::router());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, routers, stopped.clone()));
        let stores = Stores::open(&settings).await?;
        let grpc = match grpc {
            Some(bound) => Some(bound.server(&settings, &stores).await?),
            None => None,
        };
        // This step comes last, because it makes tokens that are shown only once. No later step may
        // fail.
        let app = App::with(settings, stores).await?;
        app.announce(address);
        served.send_modify(|served| *served = router(&app));
        if let Some(grpc) = grpc {
            tasks.spawn(grpc.serve(stopped.clone()));
        }
        tasks.spawn(health::watch(app.part(), app.part(), stopped.clone()));
        tasks.spawn(observe::keep(app.part(), stopped));
        Ok(Self {
            tasks,
            app,
            address,
            grpc_address,
            stopping,
        })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address that gRPC listens on; `None` without `--grpc-port`.
    pub fn grpc_address(&self) -> Option<SocketAddr> {
        self.grpc_address
    }

    /// The text to print after the start: addresses, data location, new tokens.
    pub fn greeting(&self) -> String {
        let greeting = self.app.greeting(self.address);
        match self.grpc_address {
            Some(address) => format!("{greeting}\ngRPC: {address}"),
            None => greeting,
        }
    }

    /// Stops accepting connections, finishes requests in progress, ends subscriptions and closes
    /// the stores.
    pub fn stop(self) -> BoxFuture<'static, ()> {
        Box::pin(self.end())
    }

    async fn end(mut self) {
        self.stopping.send_replace(true);
        // Subscriptions never end by themselves and would use up the time limit.
        self.app.part::<Service>().end_subscriptions();
        // The tasks use the stores, so they end before the stores close.
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(failed) = ended {
                tracing::error!(%failed, "a server task failed");
            }
        }
        self.app.close().await;
    }
}

/// Serves each connection by the router of the time at which it begins.
async fn serve(
    listener: TcpListener,
    routers: watch::Receiver<Router>,
    mut stopped: watch::Receiver<bool>,
) {
    // HTTP/1 only: hyper applies the header timeout neither to HTTP/2 nor while it detects the
    // version.
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT);
    let connections = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &permits) => accepted,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        let (stream, permit) = match accepted {
            Ok(accepted) => accepted,
            Err(failed) => {
                // Most likely the process is out of file descriptors. Wait for connections to end
                // instead of spinning.
                tracing::warn!(%failed, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(routers.borrow().clone());
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = connections.watch(connection.into_owned());
        tokio::spawn(async move {
            // An error here means that the client went away. Nothing is left to do.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(STOP_LIMIT, connections.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("requests were cut off after {STOP_LIMIT:?}");
    }
}

type Stream = std::pin::Pin<Box<TimeoutStream<TcpStream>>>;

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(Stream, tokio::sync::OwnedSemaphorePermit)> {
    // The permit comes first: above the limit, clients wait in the kernel's backlog.
    let permit = Arc::clone(permits).acquire_owned().await;
    let permit = permit.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    // Events are small and must not wait for a full packet.
    stream.set_nodelay(true)?;
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_LIMIT));
    Ok((Box::pin(stream), permit))
}
