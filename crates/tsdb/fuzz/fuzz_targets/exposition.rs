//! Prometheus' text format: samples that were read are the same after they are written and read
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tsdb::wire::exposition::{federate, write};
use tsdb::{Db, DbOptions};

fuzz_target!(|body: &[u8]| {
    let db = Db::new(DbOptions::default());
    let _ = write(&db, body, 0);
    let text = federate(&db, &[], i64::MAX, i64::MAX);
    let again = Db::new(DbOptions::default());
    let ingested = write(&again, text.as_bytes(), 0);
    assert!(ingested.errors.is_empty(), "{text}: {:?}", ingested.errors);
    assert_eq!(federate(&again, &[], i64::MAX, i64::MAX), text);
});
