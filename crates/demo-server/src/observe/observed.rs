use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use store_http::Service;
use store_http::series::Engine;

use super::projections::Looks;
use super::requests::Requests;
use crate::health::Health;
use crate::openapi;
use crate::stores::Stores;

/// The server's own counters, and the parts whose counters it shows with them.
pub(crate) struct Observed {
    pub(super) service: Service,
    pub(super) engine: Arc<Engine>,
    pub(super) stores: Arc<Stores>,
    pub(super) health: Arc<Health>,
    /// The data folder, if there is one.
    pub(super) folder: Option<PathBuf>,
    started: Instant,
    pub(super) requests: Requests,
    pub(super) projections: Looks,
    pub(super) bodies_refused: AtomicU64,
}

impl Observed {
    pub(crate) fn new(
        service: Service,
        engine: Arc<Engine>,
        stores: Arc<Stores>,
        health: Arc<Health>,
        folder: Option<PathBuf>,
    ) -> Self {
        Self {
            service,
            engine,
            stores,
            health,
            folder,
            started: Instant::now(),
            requests: Requests::new(openapi::templates()),
            projections: Looks::default(),
            bodies_refused: AtomicU64::new(0),
        }
    }

    /// Time since the server's start.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}
