//! Remote write: the bytes as a body, and the bytes compressed, to get past the decompression.
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
