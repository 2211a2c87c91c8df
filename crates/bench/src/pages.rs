//! The pages of the reports, one module each: its tables, the published figures beside them, and
//! what the published figures really mean.

pub mod local_postgresql;
pub mod message_store;
pub mod operations;
pub mod performance;
pub mod sqlite;
pub mod subscriptions;
pub mod tsdb;

use crate::report::Page;

/// All pages.
pub fn all() -> Vec<Page> {
    vec![
        local_postgresql::PAGE,
        message_store::PAGE,
        performance::PAGE,
        operations::PAGE,
        sqlite::PAGE,
        subscriptions::PAGE,
        tsdb::PAGE,
    ]
}
