//! What can go wrong, and what the caller does next.

use std::fmt;

use crate::Source;

/// Why a server or a database could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `POSTGRES_SOURCE` names none of the four sources: correct or unset it.
    #[error(
        "POSTGRES_SOURCE is {value:?}: set it to url, installed, container or download, or unset it"
    )]
    UnknownSource {
        /// The value found.
        value: String,
    },
    /// A line of [`Options::settings`](crate::Options::settings) that would not survive
    /// postgresql.conf: correct it.
    #[error("setting {name:?} cannot be written to postgresql.conf: {reason}")]
    BadSetting {
        /// The setting as given.
        name: String,
        /// What is wrong with its name or value.
        reason: &'static str,
    },
    /// The one source that was asked for, by [`Options::source`](crate::Options::source), by
    /// `POSTGRES_SOURCE` or by `DATABASE_URL`, gives no server: repair it or ask for another.
    #[error("no PostgreSQL: {0}")]
    Unavailable(Missing),
    /// None of the four sources gives a server: provide any one of them.
    #[error("no PostgreSQL; provide any one of these:{}", lines(.missing))]
    NoneAvailable {
        /// What each source lacks, in the order tried.
        missing: Vec<Missing>,
    },
    /// The server is not a process that this crate started, so it is not killed or restarted:
    /// force `POSTGRES_SOURCE=installed` or `download` for tests that do so.
    #[error("a server from {from} can neither be killed nor restarted; use installed or download")]
    NotOurs {
        /// Where the server came from.
        from: Source,
    },
    /// The server process did not obey: drop the server and start another.
    #[error("PostgreSQL did not stop or did not come back: {reason}")]
    Restart {
        /// The end of the server's log, or the error of the operating system.
        reason: String,
    },
    /// No standby was started: the binaries lack `pg_basebackup`, or the server refused the copy.
    #[error("no standby could be started: {reason}")]
    Standby {
        /// What `pg_basebackup` or the standby said last.
        reason: String,
    },
    /// Other connections use the template: close them and call again.
    #[error("database {template} is in use and cannot be copied: close its connections first")]
    TemplateInUse {
        /// The template's name.
        template: String,
    },
    /// The server refused to make a database, or did not answer.
    #[error("database {name} cannot be created: {reason}")]
    CreateDatabase {
        /// The name of the database that was to be made.
        name: String,
        /// The server's answer.
        reason: String,
    },
}

/// What one source lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The source that was tried.
    pub from: Source,
    /// What was found there.
    pub reason: String,
    /// True if the source exists and its server did not start, false if there is nothing to start.
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
