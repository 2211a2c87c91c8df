//! The recorded metrics of a database are those of the table in README.md.

use store_meter::testing::{Recording, documented};
use tsdb::{Batch, Db, DbOptions, Durability, Labels, OpenOptions, Retention, Sample};

fn labels(host: &str) -> Labels {
    Labels::new("cpu", [("host", host)]).expect("the labels are valid")
}

#[tokio::test]
async fn a_database_records_what_the_readme_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = OpenOptions {
        db: DbOptions {
            out_of_order_window_ms: Some(1_000),
            retention: Retention {
                age_ms: None,
                bytes: Some(200_000),
            },
            ..DbOptions::default()
        },
        durability: Durability::Commit,
        ..OpenOptions::default()
    };
    let (db, recording) = Recording::of(async { Db::open(folder.path(), options) }).await;
    let db = db.expect("a database");
    db.append(&labels("a"), Sample::new(9_000, 1.0))
        .expect("it is accepted");
    db.append(&labels("a"), Sample::new(9_000, 2.0))
        .expect("it is repeated");
    let mut batch = Batch::new();
    for index in 0..3 {
        batch.push(&labels("b"), Sample::new(index, 0.5));
    }
    assert_eq!(db.write(&mut batch).written, 3);
    let mut handle = db.series(&labels("b")).expect("the labels are valid");
    handle.append(Sample::new(9, 1.0)).expect("it is accepted");
    db.append(&labels("a"), Sample::new(0, 0.0))
        .expect_err("it is too late");

    let recorded = recording.look();
    assert_eq!(
        recorded.rows(&[]),
        documented(include_str!("../../README.md"), "tsdb")
    );
    for (name, wanted) in [
        ("tsdb_samples_written_total", 6.0),
        ("tsdb_samples_refused_total", 1.0),
        ("tsdb_samples_repeated_total", 1.0),
        ("tsdb_samples_evicted_total", 0.0),
        ("tsdb_series", 2.0),
        ("tsdb_snapshots_failed_total", 0.0),
    ] {
        assert_eq!(recorded.number(name, None), wanted, "{name}");
    }
    let stats = db.stats();
    for (part, bytes) in [
        ("samples", stats.sample_bytes),
        ("index", stats.index_bytes),
        ("metadata", stats.metadata_bytes),
    ] {
        let found = recorded.number("tsdb_memory_bytes", Some(("part", part)));
        assert_eq!(found, bytes as f64, "{part}");
    }
    for name in ["tsdb_log_written_bytes_total", "tsdb_sync_seconds"] {
        assert!(recorded.number(name, None) > 0.0, "{name}");
    }

    for index in 0..2_000 {
        let host = index.to_string();
        db.append(&labels(&host), Sample::new(index, 0.1))
            .expect("it is accepted");
    }
    let more = recording.look();
    for name in ["tsdb_samples_evicted_total", "tsdb_series_evicted_total"] {
        assert!(more.number(name, None) > 0.0, "{name}");
    }
    // Each look sets the gauge back to 0, so this is the change.
    let series = (db.stats().series - stats.series) as f64;
    assert_eq!(more.number("tsdb_series", None), series);
    drop((db, handle));
    let series = series + stats.series as f64;
    assert_eq!(recording.look().number("tsdb_series", None), -series);
}
