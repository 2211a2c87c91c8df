//! The JSON interface: any bytes get an answer, and a body that is refused writes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tsdb::wire::json::{query, write};
use tsdb::{Db, DbOptions};

fuzz_target!(|body: &[u8]| {
    let db = Db::new(DbOptions::default());
    let answer = write(&db, body);
    assert!(matches!(answer.status, 200 | 206 | 400));
    assert_eq!(
        answer.status == 400,
        db.series_count() == 0 && answer.body.starts_with("{\"error\"")
    );
    query(&db, body);
});
