use sqlx::postgres::PgConnection;

use super::{Layout, columns, micros, require};
use crate::failure::Failure;

/// Message DB's `messages`. To keep streams and clients, take the schema over as a message store instead.
pub(super) async fn layout(connection: &mut PgConnection, schema: &str) -> Result<Layout, Failure> {
    let (table, found) = columns(connection, schema, "messages").await?;
    let needed = [
        "global_position",
        "id",
        "stream_name",
        "type",
        "data",
        "metadata",
        "time",
    ];
    require(&table, &found, &needed)?;
    let time = micros("(e.time AT TIME ZONE 'UTC')");
    Ok(Layout {
        table,
        select: format!(
            "SELECT e.global_position AS position, e.id::text AS id, e.stream_name::text AS stream, \
                    e.type::text AS type, coalesce(convert_to(e.data::text, 'UTF8'), '') AS data, \
                    convert_to(e.metadata::text, 'UTF8') AS metadata, {time}"
        ),
        position: "global_position",
    })
}
