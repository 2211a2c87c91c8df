//! Installs the store's schema, updates an older one, and reports differences.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::error::error;
use crate::text::{check, invalid, malformed};
use crate::{Error, hash_64};

/// The schema that clients of Message DB expect.
const MESSAGE_STORE: &str = "message_store";

macro_rules! objects {
    ($($path:literal),* $(,)?) => {
        &[$(include_str!(concat!("../../schema/postgres/", $path, ".sql"))),*]
    };
}

/// The migrations that build the current schema, in order. Once released, a migration must not
/// change, not even in a comment: `changed_migrations` compares a checksum of its whole text. Later
/// migrations alter its objects instead.
const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    objects: objects![
        "functions/category",
        "functions/id",
        "functions/cardinal_id",
        "functions/is_category",
        "functions/hash_64",
        "functions/message_store_version",
        "functions/setting_is_on",
        "functions/category_lock",
        "tables/messages",
        "tables/messages_compression",
        "tables/checkpoint",
        "indexes/messages_id",
        "indexes/messages_stream",
        "indexes/messages_category",
        "types/message",
        "functions/acquire_lock",
        "functions/announce",
        "functions/horizon",
        "functions/stream_version",
        "functions/write_message",
        "functions/require_sql_condition",
        "functions/require_read_committed",
        "functions/check_consumer_group",
        "functions/get_stream_messages",
        "functions/get_category_messages",
        "functions/get_last_stream_message",
        "functions/get_all_messages",
        "functions/head",
        "functions/write_one",
        "functions/write_batch",
        "views/type_summary",
        "views/stream_summary",
        "views/stream_type_summary",
        "views/type_stream_summary",
        "views/category_type_summary",
        "views/type_category_summary",
    ],
}];

const MIGRATION_TABLES: &str = include_str!("../../schema/postgres/tables/migration.sql");
const PRIVILEGES: &str = include_str!("../../schema/postgres/privileges/message_store.sql");
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

/// The name of a store's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    name: String,
}

impl Schema {
    /// Validates a name: letters, digits and underscores, without a digit or `pg_` at the start.
    pub(super) fn new(name: &str) -> Result<Self, Error> {
        const MAX_BYTES: usize = 63;
        check(name, MAX_BYTES).map_err(invalid("schema"))?;
        let plain = name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_');
        if !plain
            || name.starts_with("pg_")
            || name.starts_with(|first: char| first.is_ascii_digit())
        {
            return Err(invalid("schema")(malformed(
                "letters, digits and _ are allowed, no digit or pg_ at the start",
            )));
        }
        Ok(Self {
            name: name.to_owned(),
        })
    }

    /// The unquoted name, which is also the name of the notification channel.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The name as a quoted SQL identifier.
    pub(super) fn quoted(&self) -> String {
        format!("\"{}\"", self.name)
    }

    /// Replaces the schema name `message_store` in SQL with this schema's name.
    pub(super) fn qualify(&self, sql: &str) -> String {
        sql.replace("message_store.", &format!("{}.", self.quoted()))
    }

    /// The lock key of a category. Must equal the result of `functions/category_lock`.
    pub(super) fn lock_key(&self, category: &str) -> i64 {
        if self.name == MESSAGE_STORE {
            hash_64(category)
        } else {
            hash_64(&format!("{}.{category}", self.quoted()))
        }
    }
}

/// Installs or updates the schema and verifies it.
pub(super) async fn ensure(connection: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    let found = installed_version(connection, schema).await?;
    if found < newest() {
        let mut transaction = connection.begin().await.map_err(|failed| error(&failed))?;
        migrate(&mut transaction, schema).await?;
        transaction
            .commit()
            .await
            .map_err(|failed| error(&failed))?;
    } else if found > newest() {
        return Err(Error::SchemaTooNew {
            found,
            supported: newest(),
        });
    }
    verify(connection, schema).await
}

fn newest() -> i32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// The newest installed migration, 0 if there is none.
async fn installed_version(connection: &mut PgConnection, schema: &Schema) -> Result<i32, Error> {
    // `to_regclass` would not do: after a wait for the lock, it may answer from the session's stale
    // cache.
    let tables = "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables \
                   WHERE schemaname = $1 AND tablename = 'migration')";
    let exists: bool = sqlx::query_scalar(tables)
        .bind(schema.name())
        .fetch_one(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    if !exists {
        return Ok(0);
    }
    let sql = schema.qualify("SELECT coalesce(max(version), 0) FROM message_store.migration");
    sqlx::query_scalar(AssertSqlSafe(sql))
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Serializes installing and dropping a schema, until the end of the transaction.
pub(super) async fn lock(connection: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    // `MSUR` in ASCII. Arbitrary, but every version of this crate must use the same key.
    const LOCK: i32 = 1_297_306_962;
    sqlx::query("SELECT pg_advisory_xact_lock($1, hashtext($2))")
        .bind(LOCK)
        .bind(schema.name())
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(|failed| error(&failed))
}

/// Installs the missing migrations within the caller's transaction. Processes that start at once
/// wait for each other.
pub(super) async fn migrate(connection: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    lock(connection, schema).await?;
    // Read again under the lock: another process may have installed the schema in the meantime.
    let found = installed_version(connection, schema).await?;
    if found == 0 {
        let schema_and_tables = format!(
            "CREATE SCHEMA IF NOT EXISTS {};{MIGRATION_TABLES}",
            schema.quoted()
        );
        execute(connection, schema.qualify(&schema_and_tables)).await?;
    }
    for migration in MIGRATIONS
        .iter()
        .filter(|migration| migration.version > found)
    {
        let sql = migration.sql(schema);
        execute(connection, sql.clone()).await?;
        let record = "INSERT INTO message_store.migration (version, checksum) VALUES ($1, md5($2))";
        sqlx::query(AssertSqlSafe(schema.qualify(record)))
            .bind(migration.version)
            .bind(&sql)
            .execute(&mut *connection)
            .await
            .map_err(|failed| error(&failed))?;
    }
    // Clients of Message DB use the default schema only. Rights on other schemas are up to their
    // owners.
    if schema.name == MESSAGE_STORE {
        execute(connection, schema.qualify(PRIVILEGES)).await?;
    }
    // Record all objects again, because a migration may change or drop existing ones. The name is
    // inserted as text, since a script takes no parameters; `Schema::new` has validated it.
    let record = format!(
        "DELETE FROM message_store.installed_object; \
         INSERT INTO message_store.installed_object (kind, name, definition) {}",
        OBJECTS.replace("$1", &format!("'{}'", schema.name))
    );
    execute(connection, schema.qualify(&record)).await
}

pub(super) async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), Error> {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(|failed| error(&failed))
}

/// Compares the schema with the definitions that were recorded when it was installed.
async fn verify(connection: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    let mut differences = changed_migrations(connection, schema).await?;
    let sql = format!(
        "SELECT i.kind || ' ' || i.name || CASE WHEN o.name IS NULL THEN ' is missing' \
                ELSE ' differs from what was installed' END \
           FROM message_store.installed_object i LEFT JOIN ({OBJECTS}) o USING (kind, name) \
          WHERE i.definition IS DISTINCT FROM o.definition ORDER BY 1"
    );
    let rows = sqlx::query(AssertSqlSafe(schema.qualify(&sql)))
        .bind(schema.name())
        .fetch_all(connection)
        .await
        .map_err(|failed| error(&failed))?;
    for row in &rows {
        differences.push(row.try_get(0).map_err(|failed| error(&failed))?);
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::SchemaMismatch { differences })
}

async fn changed_migrations(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<Vec<String>, Error> {
    let mut changed = Vec::new();
    let same = "SELECT checksum = md5($2) FROM message_store.migration WHERE version = $1";
    for migration in MIGRATIONS {
        let same: Option<bool> = sqlx::query_scalar(AssertSqlSafe(schema.qualify(same)))
            .bind(migration.version)
            .bind(migration.sql(schema))
            .fetch_optional(&mut *connection)
            .await
            .map_err(|failed| error(&failed))?;
        if same != Some(true) {
            changed.push(format!(
                "migration {} differs from the installed one",
                migration.version
            ));
        }
    }
    Ok(changed)
}
