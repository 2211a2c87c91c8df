//! Why no connection can be opened.

use std::error::Error as StdError;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use sqlx::Error;
use sqlx::postgres::PgConnectOptions;

use crate::failure::{Failure, code_and_message, failure};
use crate::statement::no_answer_within;

/// Why no connection to a database can be opened: a cause for each host of the URL. Its text is one
/// line, without a password. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ConnectError {
    /// The kind of host that was looked for, for messages.
    wanted: &'static str,
    hosts: Arc<[HostError]>,
}

/// Why one host gives no connection.
#[derive(Clone, Debug)]
pub struct HostError {
    host: String,
    port: u16,
    /// Host and port, or the socket.
    place: String,
    kind: ConnectErrorKind,
    cause: Cause,
}

#[derive(Clone, Debug)]
enum Cause {
    /// The role of the host.
    Role(&'static str),
    Failed(Arc<Error>),
}

/// The kind of a host's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// No program accepts connections at the port or the socket.
    Refused,
    /// No answer arrived in time.
    NotAnswered,
    /// The name of the host can't be looked up.
    Dns,
    /// There is no way to the host or its network.
    Unreachable,
    /// The connection broke before the session began.
    Broken,
    /// No encryption as demanded: a certificate is not trusted, or the server does not encrypt.
    Tls,
    /// The server refuses the user: the role or the password is wrong, or `pg_hba.conf` has no rule.
    Authentication,
    /// The database does not exist.
    NoDatabase,
    /// The server is starting, stopping or in recovery.
    NotReady,
    /// The server has as many sessions as it, the database or the role may have.
    TooManyConnections,
    /// The host is a standby where the URL wants a primary, or takes no writes, or the reverse.
    Role,
    /// Anything else, such as an error of a pooler. The text tells.
    Other,
}

impl ConnectErrorKind {
    fn of(failed: &Error) -> Self {
        match failed {
            Error::Io(failed) => Self::of_io(failed),
            Error::Tls(_) => Self::Tls,
            Error::Database(refused) => match refused.code().as_deref() {
                Some("3D000") => Self::NoDatabase,
                Some("53300") => Self::TooManyConnections,
                Some("57P01" | "57P02" | "57P03") => Self::NotReady,
                Some(code) if code.starts_with("28") => Self::Authentication,
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }

    fn of_io(failed: &io::Error) -> Self {
        match failed.kind() {
            // A server that stops removes its socket.
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => Self::Refused,
            ErrorKind::TimedOut => Self::NotAnswered,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Self::Unreachable,
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof => Self::Broken,
            _ if is_of_lookup(failed) => Self::Dns,
            _ => Self::Other,
        }
    }

    /// Whether the next attempt may succeed, so that it is worth to wait for it.
    fn may_pass(self) -> bool {
        match self {
            Self::Tls | Self::Authentication | Self::NoDatabase | Self::Other => false,
            Self::Refused
            | Self::NotAnswered
            | Self::Dns
            | Self::Unreachable
            | Self::Broken
            | Self::NotReady
            | Self::TooManyConnections
            | Self::Role => true,
        }
    }
}

/// Whether the lookup of a name failed. The standard library has no kind for it.
fn is_of_lookup(failed: &io::Error) -> bool {
    /// Windows: WSAHOST_NOT_FOUND to WSANO_DATA.
    const OF_WINDOWS: std::ops::RangeInclusive<i32> = 11_001..=11_004;
    let is_of_windows = |code| cfg!(windows) && OF_WINDOWS.contains(&code);
    failed.raw_os_error().is_some_and(is_of_windows)
        || failed
            .to_string()
            .starts_with("failed to lookup address information")
}

impl HostError {
    pub(crate) fn new(options: &PgConnectOptions, failed: Error) -> Self {
        let kind = ConnectErrorKind::of(&failed);
        Self::with(options, kind, Cause::Failed(Arc::new(failed)))
    }

    pub(crate) fn role(options: &PgConnectOptions, role: &'static str) -> Self {
        Self::with(options, ConnectErrorKind::Role, Cause::Role(role))
    }

    pub(crate) fn silent(options: &PgConnectOptions, waited: Duration) -> Self {
        Self::new(options, no_answer_within(waited))
    }

    fn with(options: &PgConnectOptions, kind: ConnectErrorKind, cause: Cause) -> Self {
        let socket = options.get_socket().map(|path| path.display().to_string());
        Self {
            host: socket.unwrap_or_else(|| options.get_host().to_owned()),
            port: options.get_port(),
            place: name(options),
            kind,
            cause,
        }
    }

    /// The name or the address of the host, or the path of its socket.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The kind of its failure.
    pub fn kind(&self) -> ConnectErrorKind {
        self.kind
    }

    /// The server's SQLSTATE, if the server answered with one.
    pub fn code(&self) -> Option<Arc<str>> {
        match &self.cause {
            Cause::Role(_) => None,
            Cause::Failed(failed) => code_and_message(failed).0,
        }
    }

    /// Whether a later attempt may succeed although neither the URL nor the server's settings change.
    pub fn is_transient(&self) -> bool {
        self.kind.may_pass()
            || self
                .failed()
                .is_some_and(|failed| failure(failed) == Failure::Lost)
    }

    fn failed(&self) -> Option<&Error> {
        match &self.cause {
            Cause::Role(_) => None,
            Cause::Failed(failed) => Some(failed),
        }
    }
}

impl ConnectError {
    pub(crate) fn new(wanted: &'static str, hosts: Vec<HostError>) -> Self {
        Self {
            wanted,
            hosts: hosts.into(),
        }
    }

    /// The cause at each host of the URL. One element if the URL has one host.
    pub fn hosts(&self) -> &[HostError] {
        &self.hosts
    }

    /// The kind at the first host that may pass, or else at the first host.
    pub fn kind(&self) -> ConnectErrorKind {
        let hosts = || self.hosts.iter();
        let most_hopeful = hosts().find(|host| host.is_transient());
        let most_hopeful = most_hopeful.or_else(|| hosts().next());
        most_hopeful.map_or(ConnectErrorKind::Other, HostError::kind)
    }

    /// Whether a later attempt may succeed although neither the URL nor a server's settings change. A
    /// wrong password, a missing database or a certificate that is not trusted won't pass.
    pub fn is_transient(&self) -> bool {
        self.hosts.iter().any(HostError::is_transient)
    }

    /// The SQLSTATE of the first host that answered with one.
    pub fn code(&self) -> Option<Arc<str>> {
        self.hosts.iter().find_map(HostError::code)
    }

    /// Whether it is worth to wait for the next attempt.
    pub(crate) fn may_pass(&self) -> bool {
        self.hosts.iter().any(|host| host.kind.may_pass())
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_lone = matches!(&*self.hosts, [only] if only.kind != ConnectErrorKind::Role);
        if !is_lone {
            write!(f, "no {}: ", self.wanted)?;
        }
        for (index, host) in self.hosts.iter().enumerate() {
            let mark = if index == 0 { "" } else { "; " };
            write!(f, "{mark}{host}")?;
        }
        Ok(())
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host, place, kind, ..
        } = self;
        let failed = match &self.cause {
            Cause::Role(role) => return write!(f, "{place} {role}"),
            Cause::Failed(failed) => failed,
        };
        let message = match &**failed {
            Error::Io(failed) => failed.to_string().into(),
            failed => code_and_message(failed).1,
        };
        match kind {
            ConnectErrorKind::Refused => write!(f, "{place} refused the connection"),
            ConnectErrorKind::Dns => write!(f, "the name {host} can't be looked up: {message}"),
            ConnectErrorKind::Broken => write!(f, "{place} broke the connection off: {message}"),
            ConnectErrorKind::Authentication => write!(f, "{place} refused the login: {message}"),
            ConnectErrorKind::TooManyConnections => write!(f, "{place} is full: {message}"),
            _ => write!(f, "{place}: {message}"),
        }
    }
}

impl StdError for ConnectError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.hosts.first()?.source()
    }
}

impl StdError for HostError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.failed().map(|failed| failed as _)
    }
}

/// The cause inside an error of this crate, if no connection could be opened.
pub fn connect_error(failed: &Error) -> Option<&ConnectError> {
    match failed {
        Error::Io(failed) => failed.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// The driver has no variant for it. [`connect_error`] finds it again.
impl From<ConnectError> for Error {
    fn from(failed: ConnectError) -> Self {
        io::Error::other(failed).into()
    }
}

/// The name of a host, for messages.
pub(crate) fn name(options: &PgConnectOptions) -> String {
    let host = options.get_host();
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None if host.contains(':') => format!("[{host}]:{}", options.get_port()),
        None => format!("{host}:{}", options.get_port()),
    }
}
