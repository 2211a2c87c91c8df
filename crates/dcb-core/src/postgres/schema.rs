//! Installs the log's schema, upgrades an older one, and reports differences.
//!
//! Each statement runs only once per connection, so it is not worth a named prepared statement.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::config::Config;
use super::error::error;
use super::session::administrator;
use super::tag_key;
use crate::text::invalid;
use crate::{Error, Problem};

/// The changes from an empty schema to the current one, in order. Never change a released
/// migration, not even a comment: its checksum covers the whole text. Add a new one instead.
const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    objects: &[
        include_str!("../../schema/postgres/tables/event.sql"),
        include_str!("../../schema/postgres/tables/event_tag.sql"),
        include_str!("../../schema/postgres/tables/tracking.sql"),
        include_str!("../../schema/postgres/tables/command.sql"),
        include_str!("../../schema/postgres/indexes/event_type_position.sql"),
        include_str!("../../schema/postgres/functions/tag_key.sql"),
        include_str!("../../schema/postgres/functions/tag_keys.sql"),
        include_str!("../../schema/postgres/functions/rarest_tag.sql"),
        include_str!("../../schema/postgres/functions/first_match.sql"),
        include_str!("../../schema/postgres/functions/refusals.sql"),
        include_str!("../../schema/postgres/functions/append.sql"),
        include_str!("../../schema/postgres/functions/keep_commands.sql"),
    ],
}];

const MIGRATION_TABLES: &str = include_str!("../../schema/postgres/tables/migration.sql");
const OBJECTS: &str = include_str!("../../schema/postgres/queries/objects.sql");

struct Migration {
    version: i32,
    objects: &'static [&'static str],
}

impl Migration {
    fn sql(&self, schema: &Schema) -> String {
        self.objects
            .iter()
            .map(|object| schema.qualify(object))
            .collect()
    }
}

/// The name of a log's schema.
pub(super) struct Schema {
    name: String,
}

impl Schema {
    /// A name of letters, digits and underscores, not beginning with a digit or `pg_`.
    pub(super) fn new(name: &str) -> Result<Self, Error> {
        const MAX_CHARS: usize = 63;
        crate::text::check(name, MAX_CHARS).map_err(invalid("schema"))?;
        let plain = name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_');
        if !plain
            || name.starts_with("pg_")
            || name.starts_with(|first: char| first.is_ascii_digit())
        {
            let reason = "use letters, digits and _, and no digit or pg_ at the start";
            return Err(invalid("schema")(Problem::Malformed {
                reason: reason.to_owned(),
            }));
        }
        Ok(Self {
            name: name.to_owned(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The name as a quoted identifier.
    pub(super) fn quoted(&self) -> String {
        format!("\"{}\"", self.name)
    }

    /// Replaces the schema `dcb` in the SQL with this one.
    pub(super) fn qualify(&self, sql: &str) -> String {
        sql.replace("dcb.", &format!("{}.", self.quoted()))
    }
}

/// Installs or upgrades the schema, and verifies that it is unchanged since then.
pub(super) async fn ensure(config: &Config, schema: &Schema) -> Result<(), Error> {
    let mut connection = administrator(config).await?;
    // All statements run in one transaction, so that a pooler keeps them in one session. READ
    // COMMITTED lets this installer see what another one committed while it waited for the lock.
    let begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
    let mut transaction = connection
        .begin_with(begin)
        .await
        .map_err(|failed| error(&failed))?;
    let found = installed_version(&mut transaction, schema).await?;
    if found < newest() {
        migrate(&mut transaction, schema).await?;
    } else if found > newest() {
        return Err(too_new(schema, found));
    }
    verify(&mut transaction, schema).await?;
    transaction
        .commit()
        .await
        .map_err(|failed| error(&failed))?;
    // If the message does not arrive, the server ends the session when the socket closes.
    let _ = connection.close().await;
    Ok(())
}

fn newest() -> i32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

fn too_new(schema: &Schema, found: i32) -> Error {
    Error::SchemaTooNew {
        schema: schema.name.clone(),
        found,
        supported: newest(),
    }
}

/// The newest installed migration; 0 if none is installed.
async fn installed_version(connection: &mut PgConnection, schema: &Schema) -> Result<i32, Error> {
    // Not to_regclass: after the wait for the lock it may answer from a stale catalog cache.
    let tables = "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables \
                   WHERE schemaname = $1 AND tablename = 'migration')";
    let exists: bool = sqlx::query_scalar(tables)
        .persistent(false)
        .bind(&schema.name)
        .fetch_one(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    if !exists {
        return Ok(0);
    }
    let sql = schema.qualify("SELECT coalesce(max(version), 0) FROM dcb.migration");
    sqlx::query_scalar(AssertSqlSafe(sql))
        .persistent(false)
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Installs the missing migrations. A lock serializes processes that start at once.
async fn migrate(transaction: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    lock_installation(transaction, schema)
        .await
        .map_err(|failed| error(&failed))?;
    // Read the version again, because another process may have migrated during the wait for the
    // lock.
    let found = installed_version(transaction, schema).await?;
    if found == 0 {
        let tables = format!(
            "CREATE SCHEMA IF NOT EXISTS {};{MIGRATION_TABLES}",
            schema.quoted()
        );
        execute(transaction, schema.qualify(&tables)).await?;
    }
    for migration in MIGRATIONS
        .iter()
        .filter(|migration| migration.version > found)
    {
        let sql = migration.sql(schema);
        execute(transaction, sql.clone()).await?;
        let record = "INSERT INTO dcb.migration (version, checksum) VALUES ($1, md5($2))";
        sqlx::query(AssertSqlSafe(schema.qualify(record)))
            .persistent(false)
            .bind(migration.version)
            .bind(&sql)
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
    }
    // Record the definitions that the catalog shows, because the server rewrites the SQL.
    let record = format!(
        "DELETE FROM dcb.installed_object; \
         INSERT INTO dcb.installed_object (kind, name, definition) {}",
        OBJECTS.replace("$1", &format!("'{}'", schema.name))
    );
    execute(transaction, schema.qualify(&record)).await
}

/// Locks out other installers of this schema until the transaction ends.
pub(super) async fn lock_installation(
    transaction: &mut PgConnection,
    schema: &Schema,
) -> Result<(), sqlx::Error> {
    /// The first half of the key. Appends and listeners use other numbers.
    const LOCK: i32 = 1_145_262_643;
    sqlx::query("SELECT pg_advisory_xact_lock($1, hashtext($2))")
        .persistent(false)
        .bind(LOCK)
        .bind(&schema.name)
        .execute(transaction)
        .await
        .map(|_| ())
}

async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), Error> {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(|failed| error(&failed))
}

/// Compares the schema with the objects recorded at its installation.
async fn verify(connection: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    let mut differences = changed_migrations(connection, schema).await?;
    let sql = format!(
        "SELECT i.kind || ' ' || i.name || CASE WHEN o.name IS NULL THEN ' is missing' \
                ELSE ' differs from what was installed' END \
           FROM dcb.installed_object i LEFT JOIN ({OBJECTS}) o USING (kind, name) \
          WHERE i.definition IS DISTINCT FROM o.definition ORDER BY 1"
    );
    let rows = sqlx::query(AssertSqlSafe(schema.qualify(&sql)))
        .persistent(false)
        .bind(&schema.name)
        .fetch_all(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    for row in &rows {
        differences.push(row.try_get(0).map_err(|failed| error(&failed))?);
    }
    // Compare keys only if all objects are intact: `same_keys` calls a function that may be
    // missing.
    if differences.is_empty() && !same_keys(connection, schema).await? {
        differences.push("function tag_key returns different keys than this library".to_owned());
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::SchemaMismatch {
        schema: schema.name.clone(),
        differences,
    })
}

/// Whether the server computes the same keys as this library. A big-endian server does not.
async fn same_keys(connection: &mut PgConnection, schema: &Schema) -> Result<bool, Error> {
    const TAG: &str = "course_id:course-4711 ✓";
    const EVENT_TYPE: &str = "CourseOffered";
    let sql = schema.qualify("SELECT dcb.tag_key($1, $2)");
    let key: i64 = sqlx::query_scalar(AssertSqlSafe(sql))
        .persistent(false)
        .bind(TAG)
        .bind(EVENT_TYPE)
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))?;
    Ok(key == tag_key(TAG, Some(EVENT_TYPE)))
}

async fn changed_migrations(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<Vec<String>, Error> {
    let mut changed = Vec::new();
    let same = "SELECT checksum = md5($2) FROM dcb.migration WHERE version = $1";
    for migration in MIGRATIONS {
        let same: Option<bool> = sqlx::query_scalar(AssertSqlSafe(schema.qualify(same)))
            .persistent(false)
            .bind(migration.version)
            .bind(migration.sql(schema))
            .fetch_optional(&mut *connection)
            .await
            .map_err(|failed| error(&failed))?;
        if same != Some(true) {
            changed.push(format!(
                "migration {} differs from what was installed",
                migration.version
            ));
        }
    }
    Ok(changed)
}
