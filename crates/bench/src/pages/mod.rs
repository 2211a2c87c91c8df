//! The pages of the reports, one module per page: its tables, and the published figures with
//! corrections of their meaning.

pub mod decisions;
pub mod local_postgresql;
pub mod message_store;
pub mod operations;
pub mod peers;
pub mod performance;
pub mod sqlite;
pub mod subscriptions;
pub mod tsdb;

use crate::report::Page;

/// All pages.
pub fn all() -> Vec<Page> {
    vec![
        local_postgresql::PAGE,
        decisions::PAGE,
        message_store::PAGE,
        performance::PAGE,
        operations::PAGE,
        sqlite::PAGE,
        subscriptions::PAGE,
        tsdb::PAGE,
        peers::PAGE,
    ]
}
