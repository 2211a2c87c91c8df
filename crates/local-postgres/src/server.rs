//! A PostgreSQL server that ends when its value is dropped.

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

/// A PostgreSQL server. Dropping it ends the server and removes everything it wrote. The same
/// happens if the process ends without dropping it, by Ctrl-C, a panic or kill -9. A server behind
/// `DATABASE_URL` keeps running.
///
/// Other users of this machine can connect to the server: it listens on the loopback interface and
/// asks for no password. A container has a fixed, well-known password, and its port may be open to
/// other hosts. Put no secrets into the server.
///
/// Dropping the value blocks the thread for about 50 ms; a container's drop takes about a second.
pub struct LocalPostgres {
    source: Source,
    url: String,
    socket_url: Option<String>,
    facts: Facts,
    description: String,
    server: Server,
}

impl LocalPostgres {
    /// Finds or starts a server, and prints one line about it on standard error. Takes about 0.6 s
    /// with installed binaries; the first download or image takes as long as the network needs.
    ///
    /// # Errors
    /// [`Error::NoneAvailable`] lists why each source failed. [`Error::Unavailable`] says why the
    /// forced source failed, or why the server that was found did not answer.
    /// [`Error::UnknownSource`], [`Error::UnknownVersion`] and [`Error::BadSetting`] report mistakes
    /// in the options.
    pub async fn start(options: Options) -> Result<Self, Error> {
        // A mistake in the settings would make every source fail. Report it as what it is.
        options.server_settings()?;
        let options = options.with_version_from_env()?;
        Self::of(source::find(&options).await?).await
    }

    /// Reads the facts of the server that was found, and prints the line about it.
    async fn of(found: Found) -> Result<Self, Error> {
        let source = found.source;
        let facts = Facts::read(&found.url).await.map_err(|refusal| {
            let reason = format!("{}: {}", found.origin, refusal.reason);
            Error::Unavailable(Missing::failed(source, reason))
        })?;
        let description = describe(&found, &facts);
        // Not `eprintln`, because a test harness captures it.
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

    /// The URL of the maintenance database over TCP: `postgres://user@host:port/postgres`, or
    /// `DATABASE_URL` with the host that took writes at the start.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL of the maintenance database over a Unix socket, if the server has one on this
    /// machine. A socket saves about 20 us per round trip.
    #[must_use]
    pub fn socket_url(&self) -> Option<&str> {
        self.socket_url.as_deref()
    }

    /// The server's source.
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// The server's version, such as `15.18`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.facts.version
    }

    /// The durability of the settings that the server reported at the start. It may differ from the
    /// options.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.facts.durability()
    }

    /// The line that [`start`](Self::start) printed: version, origin, durability.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Starts a standby that streams from this server and answers reads. The standby has its own
    /// folder and ends when its value is dropped. Takes about 1 s. Returns `None` if there is no
    /// `pg_basebackup` beside the server's binaries; binaries for download lack it.
    ///
    /// # Errors
    /// [`Error::NotOurs`] for a server from [`Source::Url`] or [`Source::Container`];
    /// [`Error::Standby`] if the standby does not start; [`Error::Unavailable`] if it then does not
    /// answer.
    pub async fn start_standby(&self) -> Result<Option<Self>, Error> {
        self.start_standby_through(&self.url).await
    }

    /// As [`start_standby`](Self::start_standby), for a standby that reaches this server at `url`,
    /// for example through a [`Wire`](crate::Wire).
    ///
    /// # Errors
    /// As [`start_standby`](Self::start_standby).
    pub async fn start_standby_through(&self, url: &str) -> Result<Option<Self>, Error> {
        let process = self.process()?;
        if !process.has_base_backup() {
            return Ok(None);
        }
        let started = process.start_standby(url).await;
        let standby = started.map_err(|reason| Error::Standby { reason })?;
        let origin = format!("a standby of {}", crate::url::without_secrets(&self.url));
        let standby = Self::of(Found::of_process(self.source, origin, standby)).await?;
        Ok(Some(standby))
    }

    /// Creates an empty database with a unique name that contains `hint`. Takes about 20 ms.
    ///
    /// # Errors
    /// [`Error::CreateDatabase`] with the server's answer.
    pub async fn create_database(&self, hint: &str) -> Result<Database, Error> {
        Database::create(self, hint, None).await
    }

    /// Creates a copy of `template`, which must have no connections.
    ///
    /// # Errors
    /// [`Error::TemplateInUse`] if the template has connections; [`Error::CreateDatabase`], with
    /// the server's answer, for any other failure.
    pub async fn create_database_from(
        &self,
        template: &Database,
        hint: &str,
    ) -> Result<Database, Error> {
        Database::create(self, hint, Some(template)).await
    }

    /// Kills the server and all its processes with SIGKILL, like a crash of the machine. Blocks the
    /// thread for a few milliseconds, until they are dead. A server that is down stays down.
    ///
    /// The operating system keeps everything the server wrote, so this does not test fsync.
    ///
    /// # Errors
    /// [`Error::NotOurs`] for a server from [`Source::Url`] or [`Source::Container`];
    /// [`Error::Restart`] if the processes do not die.
    pub fn kill_hard(&self) -> Result<(), Error> {
        self.process()?
            .kill_hard()
            .map_err(|failed| signal_failed(&failed))
    }

    /// Stops all processes of the server, like a virtual machine that is paused: connections stay
    /// open and get no answer. Blocks the thread for a few milliseconds.
    ///
    /// # Errors
    /// As [`kill_hard`](Self::kill_hard).
    pub fn pause(&self) -> Result<(), Error> {
        self.process()?
            .pause()
            .map_err(|failed| signal_failed(&failed))
    }

    /// Lets a paused server go on.
    ///
    /// # Errors
    /// As [`kill_hard`](Self::kill_hard).
    pub fn resume(&self) -> Result<(), Error> {
        self.process()?
            .resume()
            .map_err(|failed| signal_failed(&failed))
    }

    /// Shuts the server down. It ends the sessions of its clients and sends all changes to its standby
    /// first.
    ///
    /// # Errors
    /// [`Error::NotOurs`] for a server from [`Source::Url`] or [`Source::Container`];
    /// [`Error::Restart`] if it does not end within a minute.
    pub async fn shut_down(&self) -> Result<(), Error> {
        self.process()?
            .shut_down()
            .await
            .map_err(|failed| signal_failed(&failed))
    }

    /// Starts the server again on the same data and port. Returns when it accepts connections,
    /// after crash recovery if it was killed. A running server is shut down first. Do not call this
    /// function twice at the same time.
    ///
    /// # Errors
    /// [`Error::NotOurs`] for a server from [`Source::Url`] or [`Source::Container`];
    /// [`Error::Restart`], with the end of the server's log, if it does not start.
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

fn signal_failed(error: &io::Error) -> Error {
    Error::Restart {
        reason: error.to_string(),
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
