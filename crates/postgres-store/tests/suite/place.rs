//! Servers and databases for the cases, and waits with an end.

use std::marker::PhantomData;
use std::time::Duration;

use local_postgres::{Database, Durability, LocalPostgres, Options, Source};
use postgres_store::ServerConfig;
use tokio::time::{Instant, sleep, timeout};

use crate::store::{Answer, Failed, Store, failure};

/// Longer than any step takes. Only a failing test waits this long.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// A time limit that is longer than a failing case waits.
pub(crate) const LONG: Duration = Duration::from_secs(600);
/// A subscription that looks so rarely gets a record in time only if the listener wakes it.
pub(crate) const NEVER: Duration = Duration::from_secs(3600);

/// The store that runs a case.
pub(crate) struct Ground<S>(PhantomData<fn() -> S>);

impl<S: Store> Ground<S> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }

    /// A new database of the shared server.
    pub(crate) async fn database(&self) -> Database {
        let database = server().await.create_database("faults").await;
        database.expect("a database")
    }

    /// The defaults, for the database at this URL.
    pub(crate) fn config(&self, url: &str) -> ServerConfig {
        S::config(url)
    }

    /// A store that connects at once.
    pub(crate) async fn connect(&self, server: ServerConfig) -> S {
        S::connect(server).await.expect("the store connects")
    }

    /// A store with the defaults.
    pub(crate) async fn open(&self, url: &str) -> S {
        self.connect(self.config(url)).await
    }

    /// The error of a store that can't connect.
    pub(crate) async fn refused(&self, server: ServerConfig) -> Failed {
        soon(async { S::connect(server).await.map(drop) }).await
    }
}

/// The server that the cases of this process share. It does not flush its commits.
pub(crate) async fn server() -> &'static LocalPostgres {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    server.expect("a PostgreSQL server starts")
}

/// A server for one case, which may end it.
pub(crate) async fn private_server(durability: Durability) -> LocalPostgres {
    let mut options = Options {
        source: Some(Source::Installed),
        durability,
        ..Options::default()
    };
    if let Ok(server) = LocalPostgres::start(options.clone()).await {
        return server;
    }
    options.source = Some(Source::Download);
    let server = LocalPostgres::start(options).await;
    server.expect("a PostgreSQL server starts")
}

/// The result of a call that ends.
pub(crate) async fn in_time<T>(call: impl Future<Output = T>) -> T {
    // Boxed, because a case makes many calls.
    let ended = timeout(LIMIT, Box::pin(call)).await;
    ended.expect("the call ends")
}

/// The error of a call that ends.
pub(crate) async fn soon<T: std::fmt::Debug>(call: impl Future<Output = Answer<T>>) -> Failed {
    failure(in_time(call).await)
}

/// Waits until `done` returns true.
pub(crate) async fn wait_until(event: &str, mut done: impl AsyncFnMut() -> bool) {
    let give_up = Instant::now() + LIMIT;
    while !done().await {
        assert!(Instant::now() < give_up, "timed out waiting until {event}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until the store reads and writes.
pub(crate) async fn wait_until_it_serves(store: &impl Store) {
    wait_until("the store reads", async || store.head().await.is_ok()).await;
    wait_until("the store writes", async || store.write().await.is_ok()).await;
}

/// The number of records.
pub(crate) async fn count(store: &impl Store) -> usize {
    store.ids().await.expect("the records can be read").len()
}
