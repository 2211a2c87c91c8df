//! The conformance suite on PostgreSQL.

dcb_conformance::suite!(crate::support::postgres::fresh_store);
