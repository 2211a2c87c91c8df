//! The conformance suite on the memory store.

use dcb_core::MemoryStore;

dcb_conformance::suite!(async || MemoryStore::new());
