//! The store in memory passes the suite.

use dcb_core::MemoryStore;

dcb_core::conformance_suite!(async || MemoryStore::new());
