//! Functions of a Message DB whose bodies are not those of its releases. An adoption replaces them, so the log
//! names them first.

use postgres_store::Schema;
use sqlx::postgres::PgConnection;

use super::error::error;
use crate::Error;

/// The MD5 digests of the bodies in the releases with this interface (1.2.6 and 1.3.0), in which each run of
/// white space counts as one space. `message_store_version` is not here: it differs between releases.
const RELEASED: [&str; 12] = [
    "acquire_lock 68d4d68e6188064f3808da2d15958621",
    "cardinal_id 239433bb7a149a9446d56e3e1c6966df",
    "category b7ced378e6e54621ffae36ab3409dd50",
    "get_category_messages 96e4fafdb1706da840d5736147e17396",
    "get_last_stream_message 0a6e0933d8e4ce0e45c8f0acbaa6f47d",
    "get_last_stream_message f51f561db883067fc20c4695e8dfb71e",
    "get_stream_messages 3fee547d63f5fe53f93bed0588aa24eb",
    "hash_64 fcaaec8d6dc66f5c7447cca4c7b441a6",
    "id 11cab4d1f2a0086b25d40271ce2a9bd7",
    "is_category 8adf6658e6640916a2cb34fa6fefaf25",
    "stream_version 151f6e94ca34159613ecbb296b045949",
    "write_message 57a611ab7ab21fdfc961d816c2ce2226",
];

/// Logs the functions whose bodies somebody has changed.
pub(super) async fn name_changed(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<(), Error> {
    const CHANGED: &str = "SELECT coalesce(string_agg(p.proname, ', ' ORDER BY p.proname), '') \
          FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
         WHERE n.nspname = $1 \
           AND p.proname::text = ANY (SELECT split_part(released, ' ', 1) FROM unnest($2) released) \
           AND p.proname || ' ' || md5(regexp_replace(p.prosrc, '\\s+', ' ', 'g')) <> ALL ($2)";
    let functions: String = sqlx::query_scalar(CHANGED)
        .persistent(false)
        .bind(schema.name())
        .bind(&RELEASED[..])
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))?;
    if !functions.is_empty() {
        tracing::warn!(
            schema = schema.name(),
            functions,
            "the adoption replaces functions that differ from those of Message DB"
        );
    }
    Ok(())
}
