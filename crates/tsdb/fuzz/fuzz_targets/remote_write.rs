//! Remote write: the bytes as a body, and the bytes compressed, to get past the decompression.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tsdb::wire::remote_write::{Version, receive};
use tsdb::{Db, DbOptions, Exemplars};

fuzz_target!(|bytes: &[u8]| {
    let db = Db::new(DbOptions::default());
    let exemplars = Exemplars::new(10_000);
    for version in [Version::V1, Version::V2] {
        let _ = receive(&db, &exemplars, version, bytes);
        if let Ok(body) = snap::raw::Encoder::new().compress_vec(bytes) {
            let _ = receive(&db, &exemplars, version, &body);
        }
    }
});
