use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use dcb_core::EventStore;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{self, Identity, ServerTlsConfig};

use crate::error::ServeError;
use crate::gate::Gate;
use crate::health;
use crate::key::Key;
use crate::limits::Limits;
use crate::meters::Meters;
use crate::proto::dcb_server::DcbServer;
use crate::service::Service;

/// How often a silent connection is asked whether its client is there, and how long the client may take.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// How long calls in progress may take after the server begins to stop.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Serves an event store over gRPC, with gRPC's health service beside it.
///
/// Make it where the recorder of the facade `metrics` is installed, because it takes its handles then.
#[must_use]
pub struct Server<S> {
    store: S,
    key: Option<Key>,
    limits: Limits,
    meters: Arc<Meters>,
    transport: transport::Server,
}

impl<S: EventStore + Clone + 'static> Server<S> {
    /// A server without key and TLS, with the default limits.
    pub fn new(store: S) -> Self {
        let transport = transport::Server::builder()
            .http2_keepalive_interval(Some(PING_INTERVAL))
            .http2_keepalive_timeout(Some(PING_TIMEOUT))
            .tcp_nodelay(true);
        Self {
            store,
            key: None,
            limits: Limits::default(),
            meters: Arc::new(Meters::new()),
            transport,
        }
    }

    /// Requires the header `authorization: Bearer KEY` in every call but those of the health service.
    /// UmaDB's clients send a key over TLS only.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(Key::new(key));
        self
    }

    /// Encrypts connections with this certificate and its private key, both as PEM.
    ///
    /// # Errors
    /// [`ServeError::Tls`] if they are not PEM, or don't belong together.
    pub fn tls(mut self, certificate: &[u8], private_key: &[u8]) -> Result<Self, ServeError> {
        let identity = Identity::from_pem(certificate, private_key);
        let config = ServerTlsConfig::new().identity(identity);
        self.transport = self.transport.tls_config(config).map_err(ServeError::Tls)?;
        Ok(self)
    }

    /// Replaces the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Serves until `stop` is ready. Then health becomes `NOT_SERVING`, subscriptions and watches of the
    /// health end, and the calls in progress have 10 s to finish. Does not close the store.
    ///
    /// # Errors
    /// [`ServeError::Listener`] if connections can't be accepted.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let Self {
            store,
            key,
            limits,
            meters,
            transport,
        } = self;
        let (end, ending) = watch::channel(false);
        let service = Service::new(store.clone(), &limits, Arc::clone(&meters), ending);
        let dcb = DcbServer::new(service).max_decoding_message_size(Limits::MAX_REQUEST_BYTES);
        let (reporter, health) = tonic_health::server::health_reporter();
        health::report(&reporter, true).await;
        let stopped = async {
            stop.await;
            end.send_replace(true);
            health::end(reporter.clone()).await;
        };
        let mut ended = end.subscribe();
        let cut_off = async {
            tokio::select! {
                () = health::watch(&store, &reporter) => {}
                // An error means that `end` is gone, and with it the server.
                _ = ended.wait_for(|ended| *ended) => {}
            }
            tokio::time::sleep(STOP_LIMIT).await;
        };
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let served = transport
            .timeout(limits.call_timeout)
            .max_concurrent_streams(concurrent_streams(&limits))
            .layer(Gate::new(key, limits.request_bytes, meters))
            .add_service(health)
            .add_service(dcb)
            .serve_with_incoming_shutdown(incoming, stopped);
        tokio::select! {
            served = served => served.map_err(ServeError::Listener),
            () = cut_off => {
                tracing::warn!("gRPC calls were cut off after {STOP_LIMIT:?}");
                Ok(())
            }
        }
    }
}

/// The most calls of one connection at a time. A client waits with more.
fn concurrent_streams(limits: &Limits) -> u32 {
    /// Calls that no limit counts.
    const OTHERS: usize = 64;
    let counted = [
        limits.max_appends,
        limits.max_reads,
        limits.max_subscriptions,
    ];
    let calls = counted.into_iter().fold(OTHERS, usize::saturating_add);
    u32::try_from(calls).unwrap_or(u32::MAX)
}
