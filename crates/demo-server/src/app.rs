use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::FromRef;

use store_http::Service;
use store_http::messages::OpenNamespaces;
use store_http::series::Engine;

use crate::announce;
use crate::auth::{Tokens, check_token_of_default};
use crate::forward;
use crate::health::Health;
use crate::observe::Observed;
use crate::settings::Settings;
use crate::stores::{Events, Stores};

pub use crate::stores::OpenError;

/// The state of the server: the open stores, and the parts that guard and measure it. A clone
/// shares it.
///
/// A handler takes only the parts that it names, for example `State<Arc<Health>>`.
#[derive(Clone)]
pub struct App(Arc<Parts>);

struct Parts {
    settings: Arc<Settings>,
    stores: Arc<Stores>,
    tokens: Arc<Tokens>,
    namespaces: Arc<OpenNamespaces>,
    service: Service,
    health: Arc<Health>,
    observed: Arc<Observed>,
    engine: Arc<Engine>,
}

macro_rules! parts {
    ($($part:ident: $type:ty),*) => {
        $(impl FromRef<App> for Arc<$type> {
            fn from_ref(app: &App) -> Self {
                Arc::clone(&app.0.$part)
            }
        })*
    };
}

parts! {
    settings: Settings,
    stores: Stores,
    tokens: Tokens,
    namespaces: OpenNamespaces,
    health: Health,
    observed: Observed,
    engine: Engine
}

impl FromRef<App> for Events {
    fn from_ref(app: &App) -> Self {
        app.0.stores.events.clone()
    }
}

impl FromRef<App> for Service {
    fn from_ref(app: &App) -> Self {
        app.0.service.clone()
    }
}

impl App {
    /// Opens the stores that the settings name.
    ///
    /// # Errors
    /// [`OpenError`] if the settings contradict each other, another server uses the data folder, or
    /// a store can't be opened.
    pub async fn open(settings: Settings) -> Result<Self, OpenError> {
        Self::check(&settings)?;
        let stores = Stores::open(&settings).await?;
        Self::with(settings, stores).await
    }

    /// Checks the settings.
    pub(crate) fn check(settings: &Settings) -> Result<(), OpenError> {
        settings
            .check()
            .and_then(|()| forward::check(settings))
            .and_then(|()| check_token_of_default(settings.token.as_deref()))
            .map_err(OpenError::Settings)
    }

    /// Builds the state around stores that are already open. Creates the namespace `default` and
    /// its token if they are missing.
    pub(crate) async fn with(settings: Settings, stores: Stores) -> Result<Self, OpenError> {
        let messages = Arc::clone(&stores.messages);
        let namespaces = Arc::new(OpenNamespaces::open(messages, settings.token.as_deref()).await?);
        let (settings, stores) = (Arc::new(settings), Arc::new(stores));
        let health = Arc::new(Health::default());
        // Without this first probe, `/health` would answer 503 until the first background tick.
        health.probe(&stores).await;
        let service = Service::new(&settings.limits(), Arc::clone(&health) as _);
        let engine = Engine::new(stores.series.clone(), settings.of_series());
        let engine = Arc::new(engine);
        let observed = Arc::new(Observed::new(
            service.clone(),
            Arc::clone(&engine),
            Arc::clone(&stores),
            Arc::clone(&health),
            settings.folder(),
        ));
        Ok(Self(Arc::new(Parts {
            tokens: Arc::new(Tokens::of(Arc::clone(&settings), Arc::clone(&namespaces))),
            engine,
            health,
            namespaces,
            service,
            observed,
            stores,
            settings,
        })))
    }

    /// One of the parts.
    pub(crate) fn part<T: FromRef<Self>>(&self) -> T {
        T::from_ref(self)
    }

    /// The text to print after the start at this address: address, data location, new tokens.
    pub(crate) fn greeting(&self, address: SocketAddr) -> String {
        let Parts {
            settings,
            stores,
            tokens,
            namespaces,
            ..
        } = &*self.0;
        let mut text = format!("http://{address}\n{}", stores.location);
        if let Some(token) = tokens.made_for_admin() {
            text.push_str(&format!("\nadmin token (shown once): {token}"));
        }
        let made = namespaces.made_for_default();
        if let Some(token) = made.filter(|_| settings.needs_tokens()) {
            text.push_str(&format!(
                "\ntoken of the namespace default (shown once): {token}"
            ));
        }
        text
    }

    /// Writes what is served at this address to the log.
    pub(crate) fn announce(&self, address: SocketAddr) {
        announce::log(&self.0.settings, address, &self.0.stores.location);
    }

    /// Flushes pending data and closes the stores.
    pub async fn close(&self) {
        self.0.stores.close().await;
    }
}
