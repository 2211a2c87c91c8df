use std::net::SocketAddr;

use dcb_core::{AnyStore, EventStore as _};
use dcb_grpc::proto::dcb_client::DcbClient;
use dcb_grpc::{ServeError, Server};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};

use super::Log;

/// A server of a log.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) store: AnyStore,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), ServeError>>,
    log: Log,
}

impl Served {
    /// Serves with the defaults.
    pub(crate) async fn new(log: Log) -> Self {
        Self::with(log, |server| server).await
    }

    /// Serves as `set` says.
    pub(crate) async fn with(
        log: Log,
        set: impl FnOnce(Server<AnyStore>) -> Server<AnyStore>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = set(Server::new(log.store.clone()));
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(listener, async {
            let _ = stopped.await;
        }));
        Self {
            address,
            store: log.store.clone(),
            stop,
            serving,
            log,
        }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::from_shared(format!("http://{}", self.address)).unwrap()
    }

    /// A client with its own connection.
    pub(crate) async fn client(&self) -> DcbClient<Channel> {
        DcbClient::new(self.endpoint().connect().await.unwrap())
    }

    /// Stops the server and closes the store.
    pub(crate) async fn stop(self) {
        self.begin_stop().await.await.unwrap().unwrap();
    }

    /// Lets the server begin to stop. Its task ends when it has stopped.
    pub(crate) async fn begin_stop(self) -> JoinHandle<Result<(), ServeError>> {
        self.stop.send(()).unwrap();
        let Self { serving, log, .. } = self;
        tokio::spawn(async move {
            let served = serving.await.unwrap();
            log.store.close().await;
            served
        })
    }
}
