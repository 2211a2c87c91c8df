//! The four sources, and the order in which they are tried.

mod container;
mod download;
pub(crate) mod installed;
mod url;

use crate::{Error, Missing, Options, Source, process::postmaster::Postmaster};

/// A server that answers.
pub(crate) struct Found {
    pub(crate) source: Source,
    /// A description of the server's origin, for messages.
    pub(crate) origin: String,
    pub(crate) url: String,
    pub(crate) socket_url: Option<String>,
    pub(crate) server: Server,
    /// Sources that were tried earlier but whose servers did not start.
    pub(crate) failed: Vec<Missing>,
}

/// The part of a [`LocalPostgres`](crate::LocalPostgres) that ends the server when it is dropped.
pub(crate) enum Server {
    /// A server that this crate did not start.
    Foreign,
    Process(Box<Postmaster>),
    /// Held only because its drop removes the container.
    Container(#[expect(dead_code, reason = "held for its drop")] container::Container),
}

/// Finds a server in the forced source. Without a forced source, tries all sources in order. If
/// `DATABASE_URL` is set and no source is forced, it forces [`Source::Url`], because a caller that
/// names a server does not want another one.
pub(crate) async fn find(options: &Options) -> Result<Found, Error> {
    let named = options
        .source
        .map_or_else(Source::from_env, |source| Ok(Some(source)))?;
    let forced = named.or_else(|| url::is_set().then_some(Source::Url));
    if let Some(source) = forced {
        return start(source, options).await.map_err(Error::Unavailable);
    }
    let mut missing = Vec::new();
    for source in Source::ORDER {
        match start(source, options).await {
            Ok(found) => {
                // An absent source is normal; a server that failed to start is worth a message.
                missing.retain(|one: &Missing| one.failed);
                return Ok(Found {
                    failed: missing,
                    ..found
                });
            }
            Err(reason) => missing.push(reason),
        }
    }
    Err(Error::NoneAvailable { missing })
}

async fn start(source: Source, options: &Options) -> Result<Found, Missing> {
    match source {
        Source::Url => url::start().await,
        Source::Installed => installed::start(options).await,
        Source::Container => container::start(options).await,
        Source::Download => download::start(options).await,
    }
}

impl Found {
    pub(crate) fn of_process(source: Source, origin: String, server: Postmaster) -> Self {
        Self {
            source,
            origin,
            url: server.url(),
            socket_url: server.socket_url(),
            server: Server::Process(Box::new(server)),
            failed: Vec::new(),
        }
    }
}
