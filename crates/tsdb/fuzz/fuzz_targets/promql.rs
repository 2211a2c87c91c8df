//! PromQL: any text is a query or an error, and any query ends with an answer or an error within
//! its limits.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tsdb::promql::{Query, QueryOptions, TimeRange, to_json};
use tsdb::{Db, DbOptions, Labels, Sample};

static DB: LazyLock<Db> = LazyLock::new(|| {
    let db = Db::new(DbOptions::default());
    for name in ["a", "b_bucket"] {
        for value in ["1", "+Inf"] {
            let labels = Labels::new(name, [("le", value), ("x", "y")]).expect("labels");
            for index in 0..20_i32 {
                let sample = Sample::new(i64::from(index) * 15_000, f64::from(index % 7));
                db.append(&labels, sample).expect("accepted");
            }
        }
    }
    db
});

fuzz_target!(|text: &str| {
    let Ok(query) = Query::parse(text) else {
        return;
    };
    let options = QueryOptions {
        max_samples: 100_000,
        timeout: Duration::from_secs(5),
        ..QueryOptions::default()
    };
    to_json(&query.instant(&*DB, 150_000, &options));
    let range = TimeRange {
        start_ms: 0,
        end_ms: 300_000,
        step_ms: 30_000,
    };
    to_json(&query.range(&*DB, range, &options));
});
