//! The store in PostgreSQL passes the suite.

mod support;

dcb_core::conformance_suite!(support::fresh_store);
