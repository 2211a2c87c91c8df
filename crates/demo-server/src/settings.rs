use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::auth;
use crate::messages::DEFAULT;

/// The HTTP interfaces of an event store, a message store and a time-series engine on one address.
///
/// Without any option everything is kept in SQLite and a log of the series, in a data folder.
#[derive(Clone, clap::Parser)]
#[command(name = "demo-server", version)]
pub struct Settings {
    /// The port; 0 takes a free one.
    #[arg(long, env = "REGISTRAR_PORT", default_value_t = 8080)]
    pub port: u16,

    /// The address to listen on; another than loopback needs --require-token.
    #[arg(long, env = "REGISTRAR_LISTEN", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub listen: IpAddr,

    /// The data folder [default: registrar-data, or everything in memory with --test-mode].
    #[arg(long, env = "REGISTRAR_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Events and messages on this PostgreSQL instead of SQLite.
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: Option<String>,

    /// Events and messages on a PostgreSQL that is started for this server and ends with it.
    #[arg(long, env = "REGISTRAR_LOCAL_POSTGRES")]
    pub local_postgres: bool,

    /// For tests: no authentication, namespaces made on first use, /dcb/cleanup allowed, and
    /// without --data everything in memory.
    #[arg(long, env = "REGISTRAR_TEST_MODE")]
    pub test_mode: bool,

    /// The token of the namespace `default`, in place of the one that was made with it; with
    /// --test-mode it administers.
    #[arg(long, env = "REGISTRAR_TOKEN", hide_env_values = true)]
    pub token: Option<String>,

    /// The token that may create, list and delete namespaces; one is made and printed where none is
    /// given.
    #[arg(long, env = "REGISTRAR_ADMIN_TOKEN", hide_env_values = true)]
    pub admin_token: Option<String>,

    /// Asks for a token everywhere, not only for messages.
    #[arg(long, env = "REGISTRAR_REQUIRE_TOKEN")]
    pub require_token: bool,

    /// Lets POST /dcb/cleanup empty the event log.
    #[arg(long, env = "REGISTRAR_ALLOW_CLEANUP")]
    pub allow_cleanup: bool,

    /// The largest body of a request, in bytes; imports are streamed, and it bounds their lines.
    #[arg(long, env = "REGISTRAR_MAX_BODY_BYTES", default_value_t = 16 << 20)]
    pub max_body_bytes: usize,

    /// How long a body may take to arrive, in seconds.
    #[arg(long, env = "REGISTRAR_BODY_TIMEOUT_S", default_value_t = 30)]
    pub body_timeout_s: u64,

    /// The requests that are worked on at once.
    #[arg(long, env = "REGISTRAR_MAX_REQUESTS", default_value_t = 256)]
    pub max_requests: usize,

    /// The requests that wait for their turn; who comes then is told to try again.
    #[arg(long, env = "REGISTRAR_MAX_WAITING", default_value_t = 1024)]
    pub max_waiting: usize,

    /// The subscriptions that are open at once.
    #[arg(long, env = "REGISTRAR_MAX_SUBSCRIPTIONS", default_value_t = 1000)]
    pub max_subscriptions: usize,

    /// The memory of the series, in bytes: beyond it the oldest samples go.
    #[arg(long, env = "REGISTRAR_SERIES_BYTES", default_value_t = 1 << 30)]
    pub series_bytes: usize,
}

impl Settings {
    /// For tests: a free port of loopback, everything in memory, no authentication.
    pub fn in_memory() -> Self {
        use clap::Parser as _;
        Self {
            port: 0,
            database_url: None,
            local_postgres: false,
            data: None,
            test_mode: true,
            ..Self::parse_from(["demo-server"])
        }
    }

    /// Where to listen.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.listen, self.port)
    }

    /// The data folder; none is memory.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        match (&self.data, self.test_mode) {
            (Some(folder), _) => Some(folder.clone()),
            (None, true) => None,
            (None, false) => Some(PathBuf::from("registrar-data")),
        }
    }

    /// Whether `POST /dcb/cleanup` may empty the log.
    pub(crate) fn may_clean_up(&self) -> bool {
        self.allow_cleanup || self.test_mode
    }

    /// What contradicts itself.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.listen.is_loopback() && !self.require_token {
            return Err(format!(
                "listening on {} lets others in: add --require-token",
                self.listen
            ));
        }
        if [&self.token, &self.admin_token]
            .into_iter()
            .flatten()
            .any(String::is_empty)
        {
            return Err("a token is empty".to_owned());
        }
        let named = self.token.as_deref().and_then(auth::namespace_of);
        if named.is_some_and(|name| name.as_str() != DEFAULT) {
            return Err("--token is one of another namespace than default".to_owned());
        }
        if self.local_postgres && self.database_url.is_some() {
            return Err("--local-postgres and a database URL exclude each other".to_owned());
        }
        Ok(())
    }
}
