//! The errors of this crate, with what the caller can do next.

use std::fmt;

use crate::Source;

/// Why there is no server or database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `POSTGRES_SOURCE` names none of the four sources: correct or unset the variable.
    #[error(
        "POSTGRES_SOURCE is {value:?}: set it to url, installed, container or download, or unset it"
    )]
    UnknownSource {
        /// The value found.
        value: String,
    },
    /// `POSTGRES_VERSION` is not a major version: correct or unset the variable.
    #[error("POSTGRES_VERSION is {value:?}: set it to a major version such as 17, or unset it")]
    UnknownVersion {
        /// The value found.
        value: String,
    },
    /// A setting of [`Options::settings`](crate::Options::settings) cannot be written to
    /// postgresql.conf: correct the setting.
    #[error("setting {name:?} cannot be written to postgresql.conf: {reason}")]
    BadSetting {
        /// The setting as given.
        name: String,
        /// What is wrong with its name or value.
        reason: &'static str,
    },
    /// The source that was forced by [`Options::source`](crate::Options::source), `POSTGRES_SOURCE`
    /// or `DATABASE_URL` gives no server: repair that source or choose another one.
    #[error("no PostgreSQL: {0}")]
    Unavailable(Missing),
    /// All four sources failed: provide any one of them.
    #[error("no PostgreSQL; provide any one of these:{}", lines(.missing))]
    NoneAvailable {
        /// Why each source failed, in the order tried.
        missing: Vec<Missing>,
    },
    /// The server does not run as a child process of this crate, so the crate can neither kill nor
    /// restart it, nor start a standby. Set `POSTGRES_SOURCE=installed` or `download` for tests
    /// that need this.
    #[error("a server from {from} can neither be killed nor restarted; use installed or download")]
    NotOurs {
        /// The server's source.
        from: Source,
    },
    /// The server process did not stop or start: drop the server and start another one.
    #[error("PostgreSQL did not stop or did not come back: {reason}")]
    Restart {
        /// The end of the server's log, or the error of the operating system.
        reason: String,
    },
    /// No standby started, or the server refused the copy. Correct what the reason names.
    #[error("no standby could be started: {reason}")]
    Standby {
        /// The last output of `pg_basebackup` or the standby.
        reason: String,
    },
    /// Other connections use the template: close them and call again.
    #[error("database {template} is in use and cannot be copied: close its connections first")]
    TemplateInUse {
        /// The template's name.
        template: String,
    },
    /// The server refused to create a database, or did not answer. Correct what the reason names.
    #[error("database {name} cannot be created: {reason}")]
    CreateDatabase {
        /// The database's name.
        name: String,
        /// The server's answer.
        reason: String,
    },
}

/// The reason why one source gave no server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The source that was tried.
    pub from: Source,
    /// The reason, in words.
    pub reason: String,
    /// True if the source exists but its server did not start; false if there is nothing to start.
    pub failed: bool,
}

impl Missing {
    pub(crate) fn absent(from: Source, reason: impl Into<String>) -> Self {
        Self {
            from,
            reason: reason.into(),
            failed: false,
        }
    }

    pub(crate) fn failed(from: Source, reason: impl Into<String>) -> Self {
        Self {
            from,
            reason: reason.into(),
            failed: true,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} (to use it, {})",
            self.from,
            self.reason,
            self.from.remedy()
        )
    }
}

fn lines(missing: &[Missing]) -> String {
    missing.iter().map(|one| format!("\n  {one}")).collect()
}
