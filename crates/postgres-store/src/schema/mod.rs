//! Installs the tables and functions of a store in a schema, and checks an installed schema.
//!
//! The check compares the schema with a fresh installation in the session's temporary schema, in a
//! transaction that is rolled back. The same server prints both, under the same settings, so neither
//! its version nor its settings make a difference. A digest of the printed objects is kept beside the version. While it
//! is the same, the check needs no fresh installation and costs two statements.
//!
//! Each statement runs once per connection, so none is prepared under a name.

mod denial;
mod objects;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use store_fault::{Fault, Reason};

use crate::failure::fault;

pub use self::denial::explain_denial;
use self::objects::{Object, differences, invalid_indexes, print};

/// Settings that change how the server prints objects, or how it parses a fresh installation. A
/// role, a database or a URL may set them.
const PRINTING: &str = "\
    SET LOCAL quote_all_identifiers = off; \
    SET LOCAL DateStyle = 'ISO, MDY'; \
    SET LOCAL IntervalStyle = 'postgres'; \
    SET LOCAL TimeZone = 'UTC'; \
    SET LOCAL bytea_output = 'hex'; \
    SET LOCAL extra_float_digits = 1; \
    SET LOCAL standard_conforming_strings = on; \
    SET LOCAL array_nulls = on; \
    SET LOCAL transform_null_equals = off;";

/// Settings of a fresh installation. The server would send a notice for each temporary view. It
/// compiled the functions when the schema was installed.
const QUIET: &str = "\
    SET LOCAL client_min_messages = warning; \
    SET LOCAL check_function_bodies = off;";

/// The objects of a store, in SQL files that all name the same schema.
#[derive(Debug)]
pub struct Design {
    /// The name of the schema in the files. An installation replaces it.
    pub schema: &'static str,
    /// The first half of the key of the lock that serializes installations.
    pub lock: i32,
    /// The texts of each version's files. The first creates the table `migration`. A schema has
    /// version n once the first n have run. A released version stays as it is; a new one follows.
    pub versions: &'static [&'static [&'static str]],
    /// The rights of a role that uses the installed schema, for the error of one that lacks some.
    pub rights: &'static str,
}

impl Design {
    fn newest(&self) -> i32 {
        i32::try_from(self.versions.len()).expect("a design has fewer than 2^31 versions")
    }

    /// The texts of the versions after `version`.
    fn sql_after(&self, version: i32) -> String {
        let missing = self.versions.iter().skip(version.unsigned_abs() as usize);
        missing.flat_map(|files| files.iter().copied()).collect()
    }

    /// Replaces the schema in an SQL text by this identifier.
    fn place(&self, sql: &str, schema: &str) -> String {
        sql.replace(&format!("{}.", self.schema), &format!("{schema}."))
    }
}

/// Why a schema can't be used.
#[derive(Debug)]
pub enum SchemaError {
    /// A statement failed.
    Failed(sqlx::Error),
    /// A step of the installation failed.
    NotInstalled {
        /// The statement, or the version that was being installed.
        step: String,
        /// The driver's error.
        failed: sqlx::Error,
    },
    /// The database can't hold a store.
    Unsuitable(Fault),
    /// A line for each object that is missing or differs from a fresh installation.
    Differs(Vec<String>),
    /// A newer version of the library installed the schema.
    TooNew {
        /// The installed version.
        found: i32,
        /// The newest version of the design.
        supported: i32,
    },
}

/// The state of an installation. The default is the state before it.
#[derive(Default)]
struct Installed {
    version: i32,
    digest: String,
}

impl From<sqlx::Error> for SchemaError {
    fn from(failed: sqlx::Error) -> Self {
        Self::Failed(failed)
    }
}

/// A schema in which a design is installed.
#[derive(Clone, Debug)]
pub struct Schema {
    name: String,
    design: &'static Design,
}

impl PartialEq for Schema {
    /// Whether the schemas have the same name.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Schema {
    /// The schema with this name.
    ///
    /// # Errors
    /// A text that says which names are allowed.
    pub fn new(design: &'static Design, name: &str) -> Result<Self, &'static str> {
        const MAX_BYTES: usize = 63;
        let is_plain = name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_');
        if !is_plain
            || name.is_empty()
            || name.len() > MAX_BYTES
            || name.starts_with("pg_")
            || name.starts_with(|first: char| first.is_ascii_digit())
        {
            return Err(
                "use 1 to 63 letters, digits and underscores, and no digit or pg_ at the start",
            );
        }
        Ok(Self {
            name: name.to_owned(),
            design,
        })
    }

    /// The name without quotes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name as a quoted identifier.
    pub fn quoted(&self) -> String {
        format!("\"{}\"", self.name)
    }

    /// Replaces the schema of the design's files in an SQL text with this schema.
    pub fn qualify(&self, sql: &str) -> String {
        self.design.place(sql, &self.quoted())
    }

    /// The fault for an error of this schema. One about a missing right names the rights.
    pub fn fault(&self, error: SchemaError) -> Fault {
        match error {
            SchemaError::Failed(failed) => self.explain(fault(&failed)),
            SchemaError::NotInstalled { step, failed } => {
                denial::explain_step(&step, fault(&failed))
            }
            SchemaError::Unsuitable(fault) => fault,
            SchemaError::Differs(differences) => Fault::schema_changed(&self.name, differences),
            SchemaError::TooNew { found, supported } => Fault::SchemaTooNew {
                schema: self.name.clone(),
                found,
                supported,
            },
        }
    }

    /// Names the rights that a role needs to use the schema, if the fault is that it lacks one.
    pub fn explain(&self, failed: Fault) -> Fault {
        explain_denial(failed, &self.design.place(self.design.rights, &self.name))
    }

    /// Locks out other installers of this schema until the transaction ends.
    ///
    /// # Errors
    /// The driver's error.
    pub async fn lock(&self, transaction: &mut PgConnection) -> Result<(), sqlx::Error> {
        sqlx::query("SELECT pg_advisory_xact_lock($1, hashtext($2))")
            .persistent(false)
            .bind(self.design.lock)
            .bind(&self.name)
            .execute(transaction)
            .await
            .map(|_| ())
    }

    /// Installs the versions that are missing, and checks those that were there. Returns whether it
    /// installed anything. Call it in a transaction that [`BEGIN`](crate::BEGIN) began, so that it
    /// sees what another installer committed while it waited for the lock.
    ///
    /// # Errors
    /// [`SchemaError`].
    pub async fn ensure(&self, transaction: &mut PgConnection) -> Result<bool, SchemaError> {
        let suitable = require_utf8(transaction).await;
        suitable.map_err(SchemaError::Unsuitable)?;
        self.print_without_schema(transaction).await?;
        let supported = self.design.newest();
        let installed = self.installed(transaction).await?;
        if installed.version == supported && installed.digest == self.digest(transaction).await? {
            return Ok(false);
        }
        self.lock(transaction).await?;
        // Read again under the lock: another process may have installed the schema in the meantime.
        let found = self.installed(transaction).await?.version;
        if found > supported {
            return Err(SchemaError::TooNew { found, supported });
        }
        self.migrate(transaction, found).await?;
        if found > 0 {
            self.compare(transaction).await?;
        }
        self.record(transaction).await?;
        if found < supported {
            let (schema, from, to) = (&self.name, found, supported);
            tracing::info!(schema, from, to, "the schema was installed or upgraded");
        }
        Ok(found < supported)
    }

    /// Compares the schema with a fresh installation, looks for invalid indexes, also added ones, and
    /// changes nothing. Call it in a transaction
    /// that [`BEGIN`](crate::BEGIN) began. Needs the right to read the table `migration`, and to
    /// create temporary tables.
    ///
    /// # Errors
    /// [`SchemaError`]; [`SchemaError::Differs`] too if the schema is not installed, or older.
    pub async fn check(&self, transaction: &mut PgConnection) -> Result<(), SchemaError> {
        self.print_without_schema(transaction).await?;
        let supported = self.design.newest();
        let found = self.installed(transaction).await?.version;
        if found > supported {
            return Err(SchemaError::TooNew { found, supported });
        }
        if found < supported {
            let lacks = match found {
                0 => format!("schema {} is not installed", self.name),
                _ => format!("version {found} is installed, and {supported} is the newest"),
            };
            return Err(SchemaError::Differs(vec![lacks]));
        }
        let invalid = invalid_indexes(transaction, &self.name).await?;
        match self.compare(transaction).await {
            Ok(()) if !invalid.is_empty() => Err(SchemaError::Differs(invalid)),
            Err(SchemaError::Differs(lines)) => {
                Err(SchemaError::Differs([lines, invalid].concat()))
            }
            compared => compared,
        }
    }

    /// The statements that install the schema, for a person who reviews or runs them. They do not
    /// record the digest. The first [`ensure`](Self::ensure) compares the schema and records it.
    pub fn script(&self) -> String {
        let create = self.create();
        let files = self.qualify(&self.design.sql_after(0));
        let versions: String = (1..=self.design.newest())
            .map(|version| self.version_row(version))
            .collect();
        format!("{create};\n\n{files}\n{versions}")
    }

    fn create(&self) -> String {
        format!("CREATE SCHEMA IF NOT EXISTS {}", self.quoted())
    }

    fn version_row(&self, version: i32) -> String {
        format!(
            "INSERT INTO {}.migration (version, checksum) VALUES ({version}, '');\n",
            self.quoted()
        )
    }

    /// Makes the server print names in this schema without its name, and the same in each session.
    async fn print_without_schema(
        &self,
        transaction: &mut PgConnection,
    ) -> Result<(), sqlx::Error> {
        // The temporary schema is searched first unless the path names it.
        let path = format!("SET LOCAL search_path = {}, pg_temp;", self.quoted());
        run(transaction, path + PRINTING).await
    }

    async fn installed(&self, transaction: &mut PgConnection) -> Result<Installed, sqlx::Error> {
        // Not to_regclass: after the wait for the lock it may answer from a stale catalog cache.
        let tables = "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables \
                       WHERE schemaname = $1 AND tablename = 'migration')";
        let exists: bool = sqlx::query_scalar(tables)
            .persistent(false)
            .bind(&self.name)
            .fetch_one(&mut *transaction)
            .await?;
        if !exists {
            return Ok(Installed::default());
        }
        let newest = format!(
            "SELECT version, checksum FROM {}.migration ORDER BY version DESC LIMIT 1",
            self.quoted()
        );
        let newest = sqlx::query(AssertSqlSafe(newest))
            .persistent(false)
            .fetch_optional(transaction)
            .await?;
        newest.map_or(Ok(Installed::default()), |row| {
            Ok(Installed {
                version: row.try_get(0)?,
                digest: row.try_get(1)?,
            })
        })
    }

    /// A digest of the library's files and of the objects as this server prints them.
    async fn digest(&self, transaction: &mut PgConnection) -> Result<String, sqlx::Error> {
        let prefix = format!("{}.", self.quoted());
        sqlx::query_scalar(AssertSqlSafe(objects::digest()))
            .persistent(false)
            .bind(&self.name)
            .bind(&prefix)
            .bind(&prefix)
            .bind(self.design.sql_after(0))
            .fetch_one(transaction)
            .await
    }

    /// Installs the versions after `found`.
    async fn migrate(&self, transaction: &mut PgConnection, found: i32) -> Result<(), SchemaError> {
        let newest = self.design.newest();
        if found == newest {
            return Ok(());
        }
        if found == 0 {
            step(transaction, self.create(), self.create()).await?;
        }
        let missing = (found + 1..=newest).map(|version| self.version_row(version));
        let sql = self.qualify(&self.design.sql_after(found)) + &missing.collect::<String>();
        let name = format!("schema {} can't be brought to version {newest}", self.name);
        step(transaction, name, sql).await
    }

    /// Records the digest of the schema. A role that may not do so compares again the next time.
    async fn record(&self, transaction: &mut PgConnection) -> Result<(), sqlx::Error> {
        let record = format!(
            "UPDATE {}.migration SET checksum = $1 WHERE version = $2",
            self.quoted()
        );
        let digest = self.digest(transaction).await?;
        let mut savepoint = transaction.begin().await?;
        let recorded = sqlx::query(AssertSqlSafe(record))
            .persistent(false)
            .bind(digest)
            .bind(self.design.newest())
            .execute(&mut *savepoint)
            .await;
        match recorded {
            Err(failed) if failed.as_database_error().is_some() => savepoint.rollback().await,
            Err(failed) => Err(failed),
            Ok(_) => savepoint.commit().await,
        }
    }

    /// Compares the schema with a fresh installation.
    async fn compare(&self, transaction: &mut PgConnection) -> Result<(), SchemaError> {
        let quoted = format!("{}.", self.quoted());
        let installed = print(transaction, &self.name, [&quoted, &quoted]).await?;
        let fresh = self.fresh(transaction).await?;
        let differences = differences(&fresh, &installed);
        if differences.is_empty() {
            Ok(())
        } else {
            Err(SchemaError::Differs(differences))
        }
    }

    /// The objects of a fresh installation in the temporary schema, which needs no right to create
    /// a schema.
    async fn fresh(&self, transaction: &mut PgConnection) -> Result<Vec<Object>, sqlx::Error> {
        const TEMPORARY: &str = "pg_temp";
        let mut savepoint = transaction.begin().await?;
        let sql = QUIET.to_owned() + &self.design.sql_after(0);
        run(&mut savepoint, self.design.place(&sql, TEMPORARY)).await?;
        let name =
            "SELECT nspname::text FROM pg_catalog.pg_namespace WHERE oid = pg_my_temp_schema()";
        let name: String = sqlx::query_scalar(name)
            .persistent(false)
            .fetch_one(&mut *savepoint)
            .await?;
        let prefixes = [format!("{TEMPORARY}."), format!("{name}.")];
        let fresh = print(
            &mut savepoint,
            &name,
            prefixes.each_ref().map(String::as_str),
        )
        .await?;
        savepoint.rollback().await?;
        Ok(fresh)
    }
}

/// Checks the encoding of the database. One that is not UTF8 can't hold every text.
///
/// # Errors
/// [`Fault::Refused`], which says what to do, or the fault of the statement.
pub async fn require_utf8(transaction: &mut PgConnection) -> Result<(), Fault> {
    let encoding: String = sqlx::query_scalar("SELECT current_setting('server_encoding')")
        .persistent(false)
        .fetch_one(transaction)
        .await
        .map_err(|failed| fault(&failed))?;
    match encoding.as_str() {
        "UTF8" => Ok(()),
        _ => Err(Fault::Refused(Reason::new(format!(
            "its encoding is {encoding}, and a store needs a database created with ENCODING 'UTF8'"
        )))),
    }
}

/// Runs a step of an installation. `name` is for the error.
async fn step(
    transaction: &mut PgConnection,
    name: String,
    sql: String,
) -> Result<(), SchemaError> {
    let done = run(transaction, sql).await;
    done.map_err(|failed| SchemaError::NotInstalled { step: name, failed })
}

async fn run(transaction: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(transaction).await;
    done.map(|_| ())
}
