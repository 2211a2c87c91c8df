//! Single connections, and the facts that a server reports about itself.
//!
//! There is no pool, because a connection works only on the runtime that opened it. Tests that share
//! a server have a runtime each.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use tokio::time::timeout;

use crate::{Durability, options::DURABILITY_SETTINGS};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The oldest major version that this crate starts and the stores are tested with. It is the first
/// with `DROP DATABASE .. WITH (FORCE)`.
pub const OLDEST_VERSION: u16 = 13;
/// The newest major version that the stores are tested with.
pub const NEWEST_VERSION: u16 = 18;

/// An error answer of the server, or a failure to reach it.
pub(crate) struct Refusal {
    pub(crate) sqlstate: Option<String>,
    pub(crate) reason: String,
}

impl Refusal {
    fn own(reason: String) -> Self {
        Self {
            sqlstate: None,
            reason,
        }
    }
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        let sqlstate = error.as_database_error().and_then(|answer| answer.code());
        Self {
            sqlstate: sqlstate.map(Into::into),
            reason: error.to_string(),
        }
    }
}

async fn connect(url: &str) -> Result<PgConnection, Refusal> {
    match timeout(CONNECT_TIMEOUT, PgConnection::connect(url)).await {
        Ok(connection) => Ok(connection?),
        Err(_) => Err(Refusal::own(format!(
            "no answer within {} s",
            CONNECT_TIMEOUT.as_secs()
        ))),
    }
}

/// Runs one statement on a new connection. `sql` must not contain text from outside this crate.
pub(crate) async fn execute(url: &str, sql: String) -> Result<(), Refusal> {
    let mut connection = connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut connection)
        .await?;
    Ok(connection.close().await?)
}

/// Connects, and returns the data folder of the server that answered.
pub(crate) async fn data_directory(url: &str) -> Result<String, Refusal> {
    let mut connection = connect(url).await?;
    let row = sqlx::raw_sql("SHOW data_directory")
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    Ok(row.try_get(0)?)
}

/// Connects, and returns the boolean that a query selects.
pub(crate) async fn boolean(url: &str, sql: &'static str) -> Result<bool, Refusal> {
    let mut connection = connect(url).await?;
    let row = sqlx::raw_sql(sql).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(row.try_get(0)?)
}

/// The facts that a server reports about itself.
pub(crate) struct Facts {
    pub(crate) version: String,
    settings: Vec<(&'static str, String)>,
}

impl Facts {
    pub(crate) async fn read(url: &str) -> Result<Self, Refusal> {
        let mut connection = connect(url).await?;
        let version = show(&mut connection, "server_version").await?;
        let number = show(&mut connection, "server_version_num").await?;
        if number
            .parse()
            .is_ok_and(|number: i32| number / 10_000 < i32::from(OLDEST_VERSION))
        {
            return Err(Refusal::own(format!(
                "PostgreSQL {version} is older than {OLDEST_VERSION}"
            )));
        }
        let mut settings = Vec::new();
        for name in DURABILITY_SETTINGS {
            settings.push((name, show(&mut connection, name).await?));
        }
        connection.close().await?;
        // Packages append their own version: `15.18 (Debian 15.18-0+deb12u1)`.
        let version = version.split(' ').next().unwrap_or_default().to_owned();
        Ok(Self { version, settings })
    }

    /// Durable unless one of the settings that protect a commit is `off`. Every other value of
    /// `synchronous_commit`, even `local`, waits at least for the local disk.
    pub(crate) fn durability(&self) -> Durability {
        if self.settings.iter().any(|(_, value)| value == "off") {
            Durability::Relaxed
        } else {
            Durability::Durable
        }
    }

    pub(crate) fn settings_text(&self) -> String {
        let pairs = self
            .settings
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

async fn show(connection: &mut PgConnection, name: &'static str) -> Result<String, Refusal> {
    let row = sqlx::raw_sql(AssertSqlSafe(format!("SHOW {name}")))
        .fetch_one(connection)
        .await?;
    Ok(row.try_get(0)?)
}
