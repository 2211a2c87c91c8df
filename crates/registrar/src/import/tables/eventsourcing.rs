use sqlx::postgres::PgConnection;

use super::{Layout, columns, require};
use crate::failure::Failure;

/// The table of an application of the Python library `eventsourcing`: `stored_events`, or the name of the
/// application with `_events`. The topic becomes the type. The state is copied as it is, so it must be
/// neither compressed nor encrypted if a rule looks into it. Events get new ids.
pub(super) async fn layout(
    connection: &mut PgConnection,
    schema: &str,
    name: &str,
) -> Result<Layout, Failure> {
    let (table, found) = columns(connection, schema, name).await?;
    let needed = [
        "notification_id",
        "originator_id",
        "originator_version",
        "topic",
        "state",
    ];
    require(&table, &found, &needed)?;
    Ok(Layout {
        table,
        select: "SELECT e.notification_id::bigint AS position, NULL::text AS id, \
                        e.originator_id::text AS stream, e.topic AS type, e.state AS data, \
                        convert_to(jsonb_build_object('originatorVersion', e.originator_version)::text, \
                            'UTF8') AS metadata, NULL::bigint AS time"
            .to_owned(),
        position: "notification_id",
    })
}
