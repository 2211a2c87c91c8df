//! The pages of the reports, one module each: its tables, the published figures beside them, and
//! what the published figures really mean.

pub mod local_postgresql;

use crate::report::Page;

/// All pages.
pub fn all() -> Vec<Page> {
    vec![local_postgresql::PAGE]
}
