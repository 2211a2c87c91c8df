//! The files of the store's schema.

use postgres_store::{Design, Schema};

use crate::text::{check, invalid};
use crate::{Error, Problem};

/// The schema that clients of Message DB expect.
pub(super) const MESSAGE_STORE: &str = "message_store";

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(include_str!(concat!("../../schema/postgres/", $path, ".sql"))),*]
    };
}

static DESIGN: Design = Design {
    schema: MESSAGE_STORE,
    // `MSUR` in ASCII. Arbitrary, but every version of this crate must use the same key.
    lock: 1_297_306_962,
    versions: &[
        files![
            "tables/migration",
            "functions/category",
            "functions/id",
            "functions/cardinal_id",
            "versions/1/is_category",
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
        files!["functions/is_category"],
        files![
            "tables/checkpoint_bookmark",
            "tables/deletion",
            "functions/record_deletion",
            "functions/last_deleted",
            "functions/head_bookmark",
        ],
    ],
    rights: "a role that runs the store must be a member of the role message_store, or have its rights on \
             another schema, and have SELECT on message_store.migration and SELECT, INSERT, UPDATE and \
             DELETE on message_store.checkpoint; retention needs DELETE on message_store.messages",
};

/// The files of the first version, in the order of their installation.
pub(super) fn files() -> &'static [&'static str] {
    DESIGN.versions[0]
}

/// The files of all versions.
pub(super) fn all_files() -> impl Iterator<Item = &'static str> {
    DESIGN
        .versions
        .iter()
        .flat_map(|files| files.iter().copied())
}

/// The schema with this name. 1 to 63 letters, digits and underscores, without a digit or `pg_` at
/// the start.
pub(super) fn schema(name: &str) -> Result<Schema, Error> {
    const MAX_BYTES: usize = 63;
    check(name, MAX_BYTES).map_err(invalid("schema"))?;
    Schema::new(&DESIGN, name).map_err(|reason| invalid("schema")(Problem::malformed(reason)))
}

/// Whether clients of Message DB use this schema.
pub(super) fn is_interface(schema: &Schema) -> bool {
    schema.name() == MESSAGE_STORE
}
