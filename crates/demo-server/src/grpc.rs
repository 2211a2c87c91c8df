//! The event store over gRPC, for the clients of UmaDB. Tests: `tests/it/grpc.rs`.

use std::net::SocketAddr;
use std::path::Path;

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::settings::Settings;
use crate::stores::{Events, OpenError, Stores};

/// A bound address, and the files for it.
pub(crate) struct Bound {
    listener: TcpListener,
    /// The certificate and its key, as PEM.
    tls: Option<[Vec<u8>; 2]>,
}

/// A server that is ready to serve.
pub(crate) struct Grpc {
    listener: TcpListener,
    server: dcb_grpc::Server<Events>,
}

impl Bound {
    /// Binds the address and reads the files, if the settings ask for gRPC.
    pub(crate) async fn of(settings: &Settings) -> Result<Option<Self>, OpenError> {
        let Some(port) = settings.grpc_port else {
            return Ok(None);
        };
        let tls = match (&settings.grpc_cert, &settings.grpc_tls_key) {
            (Some(certificate), Some(key)) => Some([read(certificate)?, read(key)?]),
            _ => None,
        };
        let address = SocketAddr::new(settings.listen, port);
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| OpenError::Listen {
            address,
            option: "--grpc-port",
            source,
        })?;
        Ok(Some(Self { listener, tls }))
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// The server of these stores. It records where they do.
    pub(crate) async fn server(
        self,
        settings: &Settings,
        stores: &Stores,
    ) -> Result<Grpc, OpenError> {
        let limits = dcb_grpc::Limits {
            max_subscriptions: settings.max_subscriptions,
            unread_bytes: settings.subscriber_bytes,
            ..dcb_grpc::Limits::default()
        };
        let recorded = async { dcb_grpc::Server::new(stores.events.clone()) };
        let mut server = stores.recorded.of(recorded).await.limits(limits);
        if let Some(key) = &settings.grpc_key {
            server = server.key(key);
        }
        if let Some([certificate, key]) = &self.tls {
            server = server.tls(certificate, key)?;
        }
        let listener = self.listener;
        Ok(Grpc { listener, server })
    }
}

impl Grpc {
    /// Serves until the server stops.
    pub(crate) async fn serve(self, mut stopped: watch::Receiver<bool>) {
        let stop = async {
            // An error means that the server is gone.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        if let Err(failed) = self.server.serve(self.listener, stop).await {
            tracing::error!(%failed, "gRPC is not served any more");
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>, OpenError> {
    std::fs::read(file).map_err(|source| OpenError::GrpcFile {
        file: file.to_owned(),
        source,
    })
}
