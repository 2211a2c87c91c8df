//! Remote write, compressed and (to get past the compression) not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tsdb::wire::remote_write::write;
use tsdb::{Db, DbOptions};

fuzz_target!(|bytes: &[u8]| {
    let db = Db::new(DbOptions::default());
    let _ = write(&db, bytes);
    if let Ok(body) = snap::raw::Encoder::new().compress_vec(bytes) {
        let _ = write(&db, &body);
    }
});
