use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use store_http::{Limits, dcb, series};

use crate::log_format::LogFormat;
use crate::page;

/// HTTP interfaces of an event store, a message store and a time-series engine on one address.
///
/// By default, all data is in SQLite files and a time-series log in a data folder.
#[derive(Clone, clap::Parser)]
#[command(name = "demo-server", version)]
pub struct Settings {
    /// Port to listen on; 0 picks a free one.
    #[arg(long, env = "REGISTRAR_PORT", default_value_t = 8080, global = true)]
    pub port: u16,

    /// Address to listen on; any address but loopback needs --require-token.
    #[arg(
        long,
        env = "REGISTRAR_LISTEN",
        default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST),
        global = true
    )]
    pub listen: IpAddr,

    /// Port on which gRPC serves the events to clients of UmaDB; 0 picks a free one [default: no gRPC].
    #[arg(long, env = "REGISTRAR_GRPC_PORT", value_name = "PORT")]
    pub grpc_port: Option<u16>,

    /// Key that gRPC calls must send as `authorization: Bearer KEY`; needed with --require-token. Clients of
    /// UmaDB send a key over TLS only.
    #[arg(
        long,
        env = "REGISTRAR_GRPC_KEY",
        value_name = "KEY",
        hide_env_values = true,
        requires = "grpc_port"
    )]
    pub grpc_key: Option<String>,

    /// Certificate in PEM with which gRPC encrypts; needs --grpc-tls-key.
    #[arg(long, env = "REGISTRAR_GRPC_CERT", value_name = "FILE", requires_all = ["grpc_port", "grpc_tls_key"])]
    pub grpc_cert: Option<PathBuf>,

    /// Private key of --grpc-cert in PEM.
    #[arg(
        long,
        env = "REGISTRAR_GRPC_TLS_KEY",
        value_name = "FILE",
        requires = "grpc_cert"
    )]
    pub grpc_tls_key: Option<PathBuf>,

    /// Data folder [default: registrar-data, or in memory with --test-mode].
    #[arg(long, env = "REGISTRAR_DATA", value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,

    /// Store events and messages in this PostgreSQL instead of SQLite. Several hosts, as in
    /// postgres://user@a:5432,b:5432/database: the server finds the one that takes writes.
    // Hidden in --help, because a URL may contain a password.
    #[arg(
        long,
        env = "DATABASE_URL",
        value_name = "URL",
        hide_env_values = true,
        global = true
    )]
    pub database_url: Option<String>,

    /// Read from these streaming replicas of --database-url. Several hosts: each takes a share of the
    /// reads while it answers and is at most 10 s behind.
    #[arg(long, env = "REPLICA_URL", value_name = "URL", hide_env_values = true)]
    pub replica_url: Option<String>,

    /// Start a PostgreSQL for events and messages, and stop it with the server.
    #[arg(long, env = "REGISTRAR_LOCAL_POSTGRES", value_parser = switch("REGISTRAR_LOCAL_POSTGRES"))]
    pub local_postgres: bool,

    /// For tests: no tokens, namespaces created on first use, /dcb/cleanup allowed, and without
    /// --data everything in memory.
    #[arg(long, env = "REGISTRAR_TEST_MODE", value_parser = switch("REGISTRAR_TEST_MODE"))]
    pub test_mode: bool,

    /// Token of the namespace `default`, instead of a generated one; has admin rights with
    /// --test-mode.
    #[arg(long, env = "REGISTRAR_TOKEN", hide_env_values = true)]
    pub token: Option<String>,

    /// Token that may create, list and delete namespaces; generated and printed if missing.
    #[arg(long, env = "REGISTRAR_ADMIN_TOKEN", hide_env_values = true)]
    pub admin_token: Option<String>,

    /// Require a token on every path, not only for messages.
    #[arg(long, env = "REGISTRAR_REQUIRE_TOKEN", value_parser = switch("REGISTRAR_REQUIRE_TOKEN"))]
    pub require_token: bool,

    /// Allow POST /dcb/cleanup to delete all events.
    #[arg(long, env = "REGISTRAR_ALLOW_CLEANUP", value_parser = switch("REGISTRAR_ALLOW_CLEANUP"))]
    pub allow_cleanup: bool,

    /// Allow POST /api/v1/admin/tsdb/delete_series to delete samples.
    #[arg(long, env = "REGISTRAR_ENABLE_ADMIN_API", value_parser = switch("REGISTRAR_ENABLE_ADMIN_API"))]
    pub enable_admin_api: bool,

    /// Write a line to the log for each request, with its path but without its parameters.
    #[arg(long, env = "REGISTRAR_ACCESS_LOG", value_parser = switch("REGISTRAR_ACCESS_LOG"))]
    pub access_log: bool,

    /// Form of the lines in the log.
    #[arg(
        long,
        env = "REGISTRAR_LOG_FORMAT",
        value_enum,
        default_value_t,
        global = true
    )]
    pub log_format: LogFormat,

    /// Maximum size of a request body in bytes. An import is streamed, so for imports this limits
    /// each line.
    #[arg(long, env = "REGISTRAR_MAX_BODY_BYTES", default_value_t = 16 << 20)]
    pub max_body_bytes: usize,

    /// Time limit for a body to arrive, in seconds.
    #[arg(long, env = "REGISTRAR_BODY_TIMEOUT_S", default_value_t = 30)]
    pub body_timeout_s: u64,

    /// Maximum number of concurrent requests.
    #[arg(long, env = "REGISTRAR_MAX_REQUESTS", default_value_t = 256)]
    pub max_requests: usize,

    /// Maximum number of waiting requests; more get 503 with Retry-After.
    #[arg(long, env = "REGISTRAR_MAX_WAITING", default_value_t = 1024)]
    pub max_waiting: usize,

    /// Maximum number of open subscriptions.
    #[arg(long, env = "REGISTRAR_MAX_SUBSCRIPTIONS", default_value_t = 1000)]
    pub max_subscriptions: usize,

    /// Maximum memory in bytes, over all subscribers, for data that they have not read yet.
    #[arg(long, env = "REGISTRAR_SUBSCRIBER_BYTES", default_value_t = 64 << 20)]
    pub subscriber_bytes: usize,

    /// Memory limit of the series with their index in bytes; the oldest samples are deleted above
    /// it.
    #[arg(long, env = "REGISTRAR_SERIES_BYTES", default_value_t = 1 << 30)]
    pub series_bytes: usize,

    /// Maximum number of new series in a minute; more get 429 with Retry-After [default: no limit].
    #[arg(long, env = "REGISTRAR_MAX_NEW_SERIES", value_name = "SERIES")]
    pub max_new_series: Option<usize>,

    /// Forward all samples to this server by Prometheus' remote write, for example
    /// http://metrics:8428/api/v1/write. A name and a password in the URL become a header.
    // Hidden in --help, because a URL may contain a password.
    #[arg(
        long,
        env = "REGISTRAR_FORWARD_TO",
        value_name = "URL",
        hide_env_values = true
    )]
    pub forward_to: Option<String>,

    /// Header for the server of --forward-to, as "Name: value"; may be repeated. In the variable,
    /// one a line.
    #[arg(
        long,
        env = "REGISTRAR_FORWARD_HEADER",
        value_name = "HEADER",
        value_delimiter = '\n',
        hide_env_values = true
    )]
    pub forward_header: Vec<String>,

    /// Maximum size in bytes of the log whose samples are not forwarded yet; the oldest are dropped
    /// above it. It is in memory if the series are.
    #[arg(long, env = "REGISTRAR_FORWARD_MAX_BYTES", default_value_t = 256 << 20)]
    pub forward_max_bytes: u64,

    /// Maximum time that samples wait to be forwarded, in seconds.
    #[arg(long, env = "REGISTRAR_FORWARD_MAX_AGE_S", default_value_t = 24 * 60 * 60)]
    pub forward_max_age_s: u64,

    /// When samples reach the disk. In every mode, a server that is killed keeps each sample that
    /// it has acknowledged.
    #[arg(long, env = "REGISTRAR_SERIES_DURABILITY", value_enum, default_value_t)]
    pub series_durability: SeriesDurability,
}

/// The samples that a power failure can destroy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SeriesDurability {
    /// No acknowledged sample: the server answers a write once its samples are on disk.
    Commit,
    /// Samples of the last second.
    #[default]
    Periodic,
    /// All samples that the operating system has not written yet.
    Unsynced,
}

impl Settings {
    /// Settings for tests: a free loopback port, all data in memory, no tokens.
    pub fn in_memory() -> Self {
        use clap::Parser as _;
        Self {
            port: 0,
            // These fields are set here, so that environment variables do not change a test.
            database_url: None,
            replica_url: None,
            local_postgres: false,
            data: None,
            forward_to: None,
            test_mode: true,
            ..Self::parse_from(["demo-server"])
        }
    }

    /// The address to listen on.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.listen, self.port)
    }

    /// The data folder; `None` keeps everything in memory.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        match (&self.data, self.test_mode) {
            (Some(folder), _) => Some(folder.clone()),
            (None, true) => None,
            (None, false) => Some(PathBuf::from("registrar-data")),
        }
    }

    /// The options of the interface of events.
    pub(crate) fn of_events(&self) -> dcb::Options {
        let may_clean_up = self.allow_cleanup || self.test_mode;
        let refusal = "clearing the log is disabled; start the server with --allow-cleanup";
        dcb::Options {
            cleanup_refused: (!may_clean_up).then_some(refusal),
            states: page::states(),
        }
    }

    /// The options of the interface of series.
    pub(crate) fn of_series(&self) -> series::Options {
        let refusal = "admin APIs are disabled; start the server with --enable-admin-api";
        series::Options {
            admin_refused: (!self.enable_admin_api).then_some(refusal),
        }
    }

    /// The limits of all interfaces.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            max_body_bytes: self.max_body_bytes,
            body_timeout: Duration::from_secs(self.body_timeout_s),
            max_requests: self.max_requests,
            max_waiting: self.max_waiting,
            max_subscriptions: self.max_subscriptions,
            subscriber_bytes: self.subscriber_bytes,
        }
    }

    /// Whether a path that requires a token rejects callers without one. Test mode drops the
    /// requirement; [`Self::check`] allows this only if other computers can't reach the server.
    pub(crate) fn needs_tokens(&self) -> bool {
        self.require_token || !self.test_mode
    }

    /// Describes the first contradiction between settings.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.listen.is_loopback() && !self.require_token {
            return Err(format!(
                "other computers can reach a server that listens on {}: add --require-token",
                self.listen
            ));
        }
        if self.grpc_port.is_some() && self.grpc_key.is_none() && self.require_token {
            return Err(
                "--require-token is for gRPC too: give the calls a key with --grpc-key".to_owned(),
            );
        }
        let empty = |text: &Option<String>| text.as_deref() == Some("");
        if empty(&self.token) || empty(&self.admin_token) {
            return Err("a token must not be empty".to_owned());
        }
        if empty(&self.grpc_key) {
            return Err("--grpc-key must not be empty".to_owned());
        }
        if self.local_postgres && self.database_url.is_some() {
            return Err("--local-postgres and a database URL exclude each other".to_owned());
        }
        let least = self.limits().least_subscriber_bytes();
        if self.subscriber_bytes < least {
            return Err(format!(
                "--subscriber-bytes must be at least {least} for {} subscriptions (--max-subscriptions)",
                self.max_subscriptions
            ));
        }
        if self.replica_url.is_some() && self.database_url.is_none() {
            return Err(
                "--replica-url needs --database-url, the primary of the replicas".to_owned(),
            );
        }
        Ok(())
    }
}

/// Parses the value of a switch. On the command line a switch has no value and counts as `true`;
/// its environment variable has one.
fn switch(variable: &'static str) -> impl Fn(&str) -> Result<bool, String> + Clone {
    move |text| match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "y" | "on" => Ok(true),
        // People unset a variable by making it empty.
        "0" | "false" | "no" | "n" | "off" | "" => Ok(false),
        _ => Err(format!(
            "{variable} must be 1, true, yes or on, or 0, false, no, off or empty"
        )),
    }
}
