//! The conformance suite on the memory store.

use dcb_core::MemoryStore;

dcb_core::conformance_suite!(async || MemoryStore::new());
