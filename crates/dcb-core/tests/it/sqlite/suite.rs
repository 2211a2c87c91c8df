//! The conformance suite on SQLite: in memory, in a file, and in a file with so few keys in memory that
//! keys move into the index during the tests.

mod memory {
    use dcb_core::sqlite::{Config, SqliteStore};

    dcb_conformance::suite!(async || SqliteStore::open(Config::memory()).await.unwrap());
}

mod file {
    use crate::support::sqlite::temporary::TemporaryStore;

    dcb_conformance::suite!(TemporaryStore::open);
}

mod indexing {
    use crate::support::sqlite::temporary::TemporaryStore;

    dcb_conformance::suite!(|| TemporaryStore::with_keys_in_memory(5));
}
