use sqlx::postgres::PgConnection;

use super::{Layout, columns, micros, require};
use crate::failure::Failure;

/// Axon Framework's `domain_event_entry`, as JPA makes it, with payloads in `bytea` or in large objects. The
/// serializer must be one that writes JSON. The revision, the aggregate's type and its sequence number become
/// metadata.
pub(super) async fn layout(connection: &mut PgConnection, schema: &str) -> Result<Layout, Failure> {
    let (table, found) = columns(connection, schema, "domain_event_entry").await?;
    let needed = [
        "global_index",
        "event_identifier",
        "meta_data",
        "payload",
        "payload_revision",
        "payload_type",
        "time_stamp",
        "aggregate_identifier",
        "sequence_number",
        "type",
    ];
    require(&table, &found, &needed)?;
    let bytes = |column: &str| {
        let is_large_object = found
            .iter()
            .any(|(name, kind)| name == column && kind == "oid");
        match is_large_object {
            true => format!("lo_get(e.{column})"),
            false => format!("e.{column}"),
        }
    };
    let (payload, meta_data) = (bytes("payload"), bytes("meta_data"));
    let time = micros("e.time_stamp::timestamptz");
    Ok(Layout {
        table,
        select: format!(
            "SELECT e.global_index AS position, e.event_identifier AS id, \
                    e.aggregate_identifier AS stream, e.payload_type AS type, {payload} AS data, \
                    convert_to((jsonb_strip_nulls(jsonb_build_object('revision', e.payload_revision, \
                        'aggregateType', e.type, 'sequenceNumber', e.sequence_number)) \
                        || coalesce(convert_from({meta_data}, 'UTF8')::jsonb, '{{}}'))::text, 'UTF8') \
                        AS metadata, {time}"
        ),
        position: "global_index",
    })
}
