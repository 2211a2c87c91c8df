//! Prometheus' text format: samples that were read are the same after they are written and read
//! again.
#![no_main]

use std::convert::Infallible;

use libfuzzer_sys::fuzz_target;
use tsdb::wire::exposition::{Escaping, federate, write};
use tsdb::{Db, DbOptions};

fuzz_target!(|body: &[u8]| {
    let db = Db::new(DbOptions::default());
    let _ = write(&db, body, 0);
    let text = text_of(&db);
    let again = Db::new(DbOptions::default());
    let ingested = write(&again, text.as_bytes(), 0);
    assert!(ingested.errors.is_empty(), "{text}: {:?}", ingested.errors);
    assert_eq!(text_of(&again), text);
});

fn text_of(db: &Db) -> String {
    let every = [Vec::new()];
    let Ok(lasts) = federate(db, &every, i64::MAX, i64::MAX, || Ok::<_, Infallible>(()));
    lasts.write(Escaping::AllowUtf8)
}
