use sqlx::postgres::PgConnection;

use super::{Layout, columns, micros, require};
use crate::failure::Failure;

/// Marten's `mt_events`. Correlation, causation, headers and the tenant, which not every installation has,
/// become metadata, and so does the version in the stream.
pub(super) async fn layout(connection: &mut PgConnection, schema: &str) -> Result<Layout, Failure> {
    let (table, found) = columns(connection, schema, "mt_events").await?;
    let needed = [
        "seq_id",
        "id",
        "stream_id",
        "version",
        "data",
        "type",
        "timestamp",
    ];
    require(&table, &found, &needed)?;
    let optional = [
        ("correlation_id", "correlationId"),
        ("causation_id", "causationId"),
        ("headers", "headers"),
        ("tenant_id", "tenantId"),
        ("is_archived", "isArchived"),
    ];
    let mut metadata = "'streamVersion', e.version".to_owned();
    for (column, key) in optional {
        if found.iter().any(|(name, _)| name == column) {
            metadata += &format!(", '{key}', e.{column}");
        }
    }
    let time = micros("e.timestamp");
    Ok(Layout {
        table,
        select: format!(
            "SELECT e.seq_id AS position, e.id::text AS id, e.stream_id::text AS stream, \
                    e.type::text AS type, convert_to(e.data::text, 'UTF8') AS data, \
                    convert_to(jsonb_strip_nulls(jsonb_build_object({metadata}))::text, 'UTF8') \
                        AS metadata, {time}"
        ),
        position: "seq_id",
    })
}
