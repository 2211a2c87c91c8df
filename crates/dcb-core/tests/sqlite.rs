//! The store in SQLite passes the suite, in memory and in a file, with the
//! keys of its tags in memory and on their way into the index.

#[path = "sqlite_support/temporary.rs"]
mod temporary;

mod memory {
    use dcb_core::sqlite::{Config, SqliteStore};

    dcb_core::conformance_suite!(async || SqliteStore::open(Config::memory()).await.unwrap());
}

mod file {
    use super::temporary::TemporaryStore;

    dcb_core::conformance_suite!(TemporaryStore::open);
}

mod indexing {
    use super::temporary::TemporaryStore;

    dcb_core::conformance_suite!(|| TemporaryStore::with_keys_in_memory(5));
}
