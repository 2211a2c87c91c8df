use std::sync::Arc;

use tokio::sync::watch;

use crate::auth::Tokens;
use crate::guard::Guard;
use crate::health::Health;
use crate::messages::OpenNamespaces;
use crate::observe::Observed;
use crate::series::Work;
use crate::settings::Settings;
use crate::stores::Stores;

pub use crate::stores::OpenError;

/// State shared by all handlers: the stores, and the parts that guard and measure the server.
pub struct App {
    pub(crate) settings: Settings,
    pub(crate) stores: Stores,
    pub(crate) tokens: Tokens,
    pub(crate) namespaces: OpenNamespaces,
    pub(crate) guard: Guard,
    pub(crate) health: Health,
    pub(crate) observed: Observed,
    pub(crate) work: Work,
    ending: watch::Sender<bool>,
}

impl App {
    /// Opens the stores that the settings name.
    ///
    /// # Errors
    /// [`OpenError`] if the settings contradict each other, another server uses the data folder, or
    /// a store can't be opened.
    pub async fn open(settings: Settings) -> Result<Arc<Self>, OpenError> {
        let stores = Self::open_stores(&settings).await?;
        Self::with(settings, stores).await
    }

    /// Checks the settings, then opens the stores that they name.
    pub(crate) async fn open_stores(settings: &Settings) -> Result<Stores, OpenError> {
        settings.check().map_err(OpenError::Settings)?;
        Stores::open(settings).await
    }

    /// Builds the state around stores that are already open. Creates the namespace `default` and
    /// its token if they are missing.
    pub(crate) async fn with(settings: Settings, stores: Stores) -> Result<Arc<Self>, OpenError> {
        let tokens = Tokens::of(&settings);
        let namespaces = OpenNamespaces::open(&stores.messages, &tokens).await?;
        let app = Arc::new(Self {
            tokens,
            namespaces,
            guard: Guard::of(&settings),
            health: Health::default(),
            observed: Observed::new(),
            work: Work::default(),
            ending: watch::Sender::new(false),
            stores,
            settings,
        });
        // Without this first probe, `/health` would answer 503 until the first background tick.
        app.health.probe(&app.stores).await;
        Ok(app)
    }

    /// Becomes `true` when the server stops and subscriptions must end.
    pub(crate) fn ending(&self) -> watch::Receiver<bool> {
        self.ending.subscribe()
    }

    pub(crate) fn end_subscriptions(&self) {
        self.ending.send_replace(true);
    }

    /// Flushes pending data and closes the stores.
    pub async fn close(&self) {
        self.stores.close().await;
    }
}
