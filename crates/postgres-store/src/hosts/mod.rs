//! The hosts of a URL.

mod attempts;
mod outage_log;
mod search;
mod url;
mod wanted;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher as _;
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use sqlx::postgres::PgConnectOptions;

use self::attempts::Attempts;
pub(crate) use self::outage_log::host_or_socket;
pub(crate) use self::search::{Found, find};
use self::wanted::Wanted;
use crate::connect_error::{ConnectError, HostError, name};
use crate::encryption;

/// The hosts of a URL. A connection leads to one of them. Cheap to clone. Clones, and the sessions
/// made of them, share the memory of the host that was found last, and of the last attempts.
#[derive(Clone)]
pub struct Hosts {
    /// At least one.
    each: Arc<[PgConnectOptions]>,
    wanted: Wanted,
    /// The index of the host at which the next search begins.
    last: Arc<AtomicUsize>,
    attempts: Arc<Attempts>,
    /// Whether a caller gets the last failure at once, instead of another attempt.
    pub(crate) fails_fast: bool,
}

impl Hosts {
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let split = url::split(url)?;
        let each: Result<Arc<[_]>, String> = split.urls.iter().map(|url| options(url)).collect();
        let each = each?;
        let first = match split.is_random {
            true => random_below(each.len()),
            false => 0,
        };
        Ok(Self {
            each,
            wanted: split.wanted,
            last: Arc::new(AtomicUsize::new(first)),
            attempts: Arc::default(),
            fails_fast: false,
        })
    }

    /// These hosts, for connections to the one that takes writes.
    pub(crate) fn for_writes(mut self) -> Result<Self, String> {
        self.wanted = match self.wanted {
            Wanted::Any => Wanted::PreferReadWrite,
            Wanted::ReadWrite | Wanted::Primary => self.wanted,
            _ => {
                return Err(
                    "target_session_attrs must be read-write, primary or any, because \
                            this URL leads to the server that takes writes"
                        .to_owned(),
                );
            }
        };
        Ok(self)
    }

    /// Each host for itself.
    pub(crate) fn split(&self) -> Vec<Self> {
        (0..self.each.len()).map(|host| self.only(host)).collect()
    }

    /// The host with this index alone.
    pub(crate) fn only(&self, host: usize) -> Self {
        Self {
            each: Arc::new([self.each[host].clone()]),
            wanted: self.wanted,
            last: Arc::default(),
            attempts: Arc::default(),
            fails_fast: self.fails_fast,
        }
    }

    /// These hosts with other options.
    #[must_use]
    pub(crate) fn map(&self, change: impl Fn(PgConnectOptions) -> PgConnectOptions) -> Self {
        Self {
            each: self.each.iter().cloned().map(change).collect(),
            wanted: self.wanted,
            last: Arc::clone(&self.last),
            attempts: Arc::clone(&self.attempts),
            fails_fast: self.fails_fast,
        }
    }

    /// The options of a connection, if there is one host.
    pub(crate) fn only_one(&self) -> Option<&PgConnectOptions> {
        match &*self.each {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The options of a connection to the host with this index.
    pub(crate) fn options_of(&self, host: usize) -> &PgConnectOptions {
        &self.each[host]
    }

    /// The options of the host that was found last, or of the one to try first.
    pub(crate) fn likely_one(&self) -> &PgConnectOptions {
        let last = self.last.load(Ordering::Relaxed);
        &self.each[last % self.each.len()]
    }

    /// Whether all hosts are sockets of this machine.
    pub(crate) fn are_sockets(&self) -> bool {
        self.each.iter().all(|host| host.get_socket().is_some())
    }

    /// Why a caller that has waited since `begun` got no connection: the last attempt failed in the
    /// meantime, or no attempt has ended for half of the caller's time. `None` if the hosts are not
    /// the reason.
    pub(crate) fn outage_since(&self, begun: Instant) -> Option<ConnectError> {
        self.attempts.failed_since(begun).or_else(|| {
            let silence = self.attempts.silence(begun)?;
            (silence >= begun.elapsed() / 2).then(|| self.silent(silence))
        })
    }

    /// These hosts; while the last attempt to connect has failed, a connection fails at once.
    #[must_use]
    pub(crate) fn failing_fast(mut self, fails_fast: bool) -> Self {
        self.fails_fast = fails_fast;
        self
    }

    /// The error of hosts that did not answer for this time.
    pub(crate) fn silent(&self, waited: Duration) -> ConnectError {
        let each = self.each.iter();
        let silent = each.map(|options| HostError::silent(options, waited));
        ConnectError::new(self.wanted.kind(), silent.collect())
    }

    /// The indexes, from the host that was found last on.
    fn in_turn(&self) -> impl Iterator<Item = usize> + use<> {
        let hosts = self.each.len();
        let last = self.last.load(Ordering::Relaxed);
        (last..last + hosts).map(move |index| index % hosts)
    }
}

/// The URL with one host: the one that takes writes. Returns a URL with one host as it is, without a
/// connection.
///
/// # Errors
/// A text that says how the URL is malformed, or what is wrong with each host.
pub async fn url_of_writable_host(url: &str) -> Result<String, String> {
    let mut urls = url::split(url)?.urls;
    if urls.len() == 1 {
        return Ok(urls.remove(0));
    }
    let hosts = Hosts::parse(url)?.for_writes()?;
    let found = find(&hosts).await.map_err(|failed| failed.to_string())?;
    // If the message does not arrive, the server ends the session when the socket closes.
    let _ = found.connection.close().await;
    Ok(urls.swap_remove(found.host))
}

fn options(url: &str) -> Result<PgConnectOptions, String> {
    let options = PgConnectOptions::from_str(url).map_err(|refused| refused.to_string())?;
    let options = match options.get_host().strip_prefix('[') {
        // The driver keeps the brackets of a URL, and then looks for a host of that name.
        Some(address) => {
            let address = address.trim_end_matches(']').to_owned();
            options.host(&address)
        }
        None => options,
    };
    encryption::complete(options, url)
}

fn random_below(end: usize) -> usize {
    let random = RandomState::new().hash_one(0);
    usize::try_from(random % end as u64).unwrap_or_default()
}

impl From<PgConnectOptions> for Hosts {
    /// One host, in any role.
    fn from(options: PgConnectOptions) -> Self {
        Self {
            each: Arc::new([options]),
            wanted: Wanted::Any,
            last: Arc::default(),
            attempts: Arc::default(),
            fails_fast: false,
        }
    }
}

// By hand, to leave out the passwords.
impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.each.iter().map(name).collect();
        f.write_str(&names.join(","))
    }
}
