//! A PostgreSQL server for as long as its value lives.

use std::{
    fmt,
    io::{self, Write as _},
};

use crate::{
    Database, Durability, Error, Missing, Options, Source,
    connection::Facts,
    process::postmaster::Postmaster,
    source::{self, Found, Server},
};

/// A PostgreSQL server. Dropped, it is ended and everything it wrote is removed; the same happens
/// when the process ends without dropping it, by Ctrl-C, a panic or kill -9. A server behind
/// `DATABASE_URL` is left as it is.
///
/// Other users of this machine can connect to a server started here: it listens on the loopback
/// interface and asks for no password. Put no secrets into it.
///
/// The drop blocks its thread for some 50 ms, a container's for about a second.
pub struct LocalPostgres {
    source: Source,
    url: String,
    socket_url: Option<String>,
    facts: Facts,
    description: String,
    server: Server,
}

impl LocalPostgres {
    /// Finds or starts a server and says on standard error, in one line, which one it is. About
    /// 0.6 s with installed binaries; the first download or image takes as long as the network.
    ///
    /// # Errors
    /// [`Error::NoneAvailable`] lists what every source lacks; [`Error::Unavailable`] is about the
    /// one that was forced. [`Error::UnknownSource`] and [`Error::BadSetting`] are mistakes in
    /// what was asked.
    pub async fn start(options: Options) -> Result<Self, Error> {
        options.server_settings()?;
        Self::of(source::find(&options).await?).await
    }

    /// The server that was found, once it has told what it is.
    async fn of(found: Found) -> Result<Self, Error> {
        let source = found.source;
        let facts = Facts::read(&found.url).await.map_err(|refusal| {
            let reason = format!("{}: {}", found.origin, refusal.reason);
            Error::Unavailable(Missing::failed(source, reason))
        })?;
        let description = describe(&found, &facts);
        // Not `eprintln`, which a test harness keeps to itself.
        let _ = writeln!(io::stderr(), "local-postgres: {description}");
        let Found {
            url,
            socket_url,
            server,
            ..
        } = found;
        Ok(Self {
            source,
            url,
            socket_url,
            facts,
            description,
            server,
        })
    }

    /// The maintenance database over TCP: `postgres://user@host:port/postgres`, or `DATABASE_URL`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The maintenance database over a Unix socket, where the server has one here. It saves about
    /// 20 µs per round trip.
    #[must_use]
    pub fn socket_url(&self) -> Option<&str> {
        self.socket_url.as_deref()
    }

    /// Where the server came from.
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// The server's version, such as `15.18`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.facts.version
    }

    /// What the server's settings were at the start, as it reported them, whatever was asked for.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.facts.durability()
    }

    /// The line that was printed: version, origin, durability.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Starts a standby that streams from this server and answers reads: a replica. It has a folder
    /// of its own and ends with its value. About 1 s, with `pg_basebackup` beside the server's
    /// binaries.
    ///
    /// # Errors
    /// [`Error::NotOurs`] for a server from [`Source::Url`] or [`Source::Container`];
    /// [`Error::Standby`] with the reason.
    pub async fn start_standby(&self) -> Result<Self, Error> {
        let started = self.process()?.start_standby().await;
        let standby = started.map_err(|reason| Error::Standby { reason })?;
        let origin = format!("a standby of {}", crate::url::without_secrets(&self.url));
        Self::of(Found::of_process(self.source, origin, standby)).await
    }

    /// Makes an empty database with a unique name that begins like `hint`. About 20 ms.
    ///
    /// # Errors
    /// [`Error::CreateDatabase`] with the server's answer.
    pub async fn create_database(&self, hint: &str) -> Result<Database, Error> {
        Database::create(self, hint, None).await
    }

    /// Makes a copy of `template`, to which nobody may be connected.
    ///
    /// # Errors
    /// [`Error::TemplateInUse`] if somebody is; else [`Error::CreateDatabase`].
    pub async fn create_database_from(
        &self,
        template: &Database,
        hint: &str,
    ) -> Result<Database, Error> {
        Database::create(self, hint, Some(template)).await
    }

    /// Kills the server and all its processes with SIGKILL, as a crash of the machine would end
    /// them, and returns when they are dead: it blocks its thread for some milliseconds. A server
    /// that is down stays down. The operating system keeps what the server wrote: this shows
    /// nothing about fsync.
    ///
    /// # Errors
    /// [`Error::NotOurs`] for a server from [`Source::Url`] or [`Source::Container`];
    /// [`Error::Restart`] if the processes do not die.
    pub fn kill_hard(&self) -> Result<(), Error> {
        self.process()?.kill_hard().map_err(|error| Error::Restart {
            reason: error.to_string(),
        })
    }

    /// Starts the server again on the same data and port and returns when it accepts connections,
    /// after crash recovery if it was killed. A server that runs is first shut down. Not for two
    /// callers at a time.
    ///
    /// # Errors
    /// As [`kill_hard`](Self::kill_hard), with the end of the server's log.
    pub async fn restart(&self) -> Result<(), Error> {
        self.process()?
            .restart()
            .await
            .map_err(|reason| Error::Restart { reason })
    }

    fn process(&self) -> Result<&Postmaster, Error> {
        match &self.server {
            Server::Process(postmaster) => Ok(postmaster),
            _ => Err(Error::NotOurs { from: self.source }),
        }
    }
}

impl fmt::Debug for LocalPostgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalPostgres")
            .field(&self.description)
            .finish()
    }
}

fn describe(found: &Found, facts: &Facts) -> String {
    let durability = match (&found.server, facts.durability()) {
        (Server::Foreign, _) => format!("its own settings: {}", facts.settings_text()),
        (Server::Process(server), Durability::Durable) if server.is_in_memory() => {
            "durable settings, but the data is in memory".to_owned()
        }
        (_, Durability::Durable) => "durable".to_owned(),
        (_, Durability::Relaxed) => format!("not durable: {}", facts.settings_text()),
    };
    let failed: String = found
        .failed
        .iter()
        .map(|one| format!("; before it, {one}"))
        .collect();
    format!(
        "PostgreSQL {} from {} ({durability}){failed}",
        facts.version, found.origin
    )
}
