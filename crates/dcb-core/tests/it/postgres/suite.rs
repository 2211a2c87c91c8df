//! The conformance suite on PostgreSQL.

dcb_core::conformance_suite!(crate::support::postgres::fresh_store);
