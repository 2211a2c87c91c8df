//! The files of the log's schema.

use postgres_store::{Design, Schema};

use crate::text::{check, invalid};
use crate::{Error, Problem};

/// The rights of a role that runs a store.
pub(super) const RIGHTS: &str = "a role that runs the store needs USAGE on the schema, and SELECT, \
    INSERT, UPDATE and DELETE on its tables";

static DESIGN: Design = Design {
    schema: "dcb",
    // Appends and listeners use other numbers.
    lock: 1_145_262_643,
    versions: &[
        &[
            include_str!("../../schema/postgres/tables/migration.sql"),
            include_str!("../../schema/postgres/tables/event.sql"),
            include_str!("../../schema/postgres/tables/event_tag.sql"),
            include_str!("../../schema/postgres/tables/tracking.sql"),
            include_str!("../../schema/postgres/tables/command.sql"),
            include_str!("../../schema/postgres/indexes/event_type_position.sql"),
            include_str!("../../schema/postgres/functions/tag_key.sql"),
            include_str!("../../schema/postgres/functions/tag_keys.sql"),
            include_str!("../../schema/postgres/functions/rarest_tag.sql"),
            include_str!("../../schema/postgres/functions/first_match.sql"),
            include_str!("../../schema/postgres/versions/1/refusals.sql"),
            include_str!("../../schema/postgres/versions/1/append.sql"),
            include_str!("../../schema/postgres/functions/keep_commands.sql"),
        ],
        &[include_str!(
            "../../schema/postgres/versions/2/refusals.sql"
        )],
        &[
            include_str!("../../schema/postgres/functions/refusals.sql"),
            include_str!("../../schema/postgres/versions/3/append.sql"),
        ],
        &[
            include_str!("../../schema/postgres/tables/checkpoint.sql"),
            include_str!("../../schema/postgres/functions/append.sql"),
            include_str!("../../schema/postgres/versions/4/keep_times.sql"),
        ],
        &[include_str!("../../schema/postgres/tables/kept_state.sql")],
        &[
            include_str!("../../schema/postgres/tables/projection.sql"),
            include_str!("../../schema/postgres/indexes/projection_current.sql"),
            include_str!("../../schema/postgres/tables/projection_slice.sql"),
            include_str!("../../schema/postgres/tables/projection_member.sql"),
            include_str!("../../schema/postgres/tables/projection_event.sql"),
        ],
        &[include_str!(
            "../../schema/postgres/functions/keep_times.sql"
        )],
    ],
    rights: RIGHTS,
};

/// The schema with this name. 1 to 63 letters, digits and underscores, without a digit or `pg_` at
/// the start.
pub(super) fn schema(name: &str) -> Result<Schema, Error> {
    const MAX_CHARS: usize = 63;
    check(name, MAX_CHARS).map_err(invalid("schema"))?;
    let schema = Schema::new(&DESIGN, name);
    schema.map_err(|reason| invalid("schema")(Problem::malformed(reason)))
}
