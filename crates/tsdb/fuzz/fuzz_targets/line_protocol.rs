//! InfluxDB's line protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tsdb::wire::line_protocol::{Precision, write};
use tsdb::{Db, DbOptions};

fuzz_target!(|body: &[u8]| {
    let db = Db::new(DbOptions::default());
    let ingested = write(&db, body, Precision::Nanoseconds, 0);
    assert_eq!(ingested.written > 0, db.series_count() > 0);
});
