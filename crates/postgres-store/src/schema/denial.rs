//! Errors of roles that lack a right.

use store_fault::{Fault, Reason};

use crate::failure::INSUFFICIENT_PRIVILEGE;

/// Adds what a role needs to the fault of one that lacks a right.
pub fn explain_denial(failed: Fault, needs: &str) -> Fault {
    match failed {
        Fault::Refused(denied) if denied.code() == Some(INSUFFICIENT_PRIVILEGE) => {
            let message = format!("{}; {needs}", denied.message());
            Fault::Refused(Reason::new(message).with_code(INSUFFICIENT_PRIVILEGE))
        }
        failed => failed,
    }
}

/// Names the step of an installation that the database refused.
pub(super) fn explain_step(step: &str, failed: Fault) -> Fault {
    const INSTALLER: &str = "call install_schema with the URL of a role that may do it; an \
        administrator can run the SQL of schema_sql for a new schema";
    match failed {
        Fault::Refused(refused) => {
            let reason = Reason::new(format!("{step}: {}", refused.message()));
            let reason = match refused.code() {
                Some(code) => reason.with_code(code),
                None => reason,
            };
            explain_denial(Fault::Refused(reason), INSTALLER)
        }
        failed => failed,
    }
}
