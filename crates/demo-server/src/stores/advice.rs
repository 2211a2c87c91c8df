//! What to do about an error of a store at the start.

use dcb_core::Error as Events;
use message_store::Error as Messages;
use store_fault::Fault;

const REACH: &str = "; check --database-url or DATABASE_URL, and that the database runs";
const COMPARE: &str =
    "; demo-server schema check lists all differences: undo them, or use another database";
const REBUILD: &str = "; the command is demo-server schema rebuild";
const UPDATE: &str = "; start the newer demo-server that installed it";

/// The end of an error's line; empty if the error needs none.
pub(crate) fn of_events(failed: &Events) -> &'static str {
    match failed {
        Events::Invalid { .. } => REACH,
        Events::Fault(fault) => of_fault(fault),
        Events::KeysMissing { .. } => REBUILD,
        _ => "",
    }
}

/// The end of an error's line; empty if the error needs none.
pub(crate) fn of_messages(failed: &Messages) -> &'static str {
    match failed {
        Messages::ForeignSchema { .. } => {
            "; the command is demo-server schema install --adopt-message-db"
        }
        Messages::Invalid { .. } => REACH,
        Messages::Fault(fault) => of_fault(fault),
        Messages::ColumnsDiffer { .. } => REBUILD,
        _ => "",
    }
}

fn of_fault(fault: &Fault) -> &'static str {
    match fault {
        Fault::Unreachable(_) => REACH,
        Fault::SchemaChanged { .. } => COMPARE,
        Fault::SchemaTooNew { .. } => UPDATE,
        _ => "",
    }
}
