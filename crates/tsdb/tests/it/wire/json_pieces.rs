//! An answer in pieces equals the whole answer, and no piece exceeds its limit.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tsdb::wire::json::{Pieces, Query};
use tsdb::{Db, DbOptions, Labels, Limits, Matcher, Sample};

use crate::support::wire::db;

fn all(metric: &str) -> Query {
    let (start, end) = (i64::MIN, i64::MAX);
    let body = format!(r#"{{"metric":"{metric}","start":{start},"end":{end}}}"#);
    Query::read(body.as_bytes()).expect("a query")
}

fn labels(host: &str) -> Labels {
    Labels::new("m", [("host", host)]).expect("labels")
}

fn append(db: &Db, host: &str, timestamp_ms: i64, value: f64) {
    db.append(&labels(host), Sample::new(timestamp_ms, value))
        .expect("accepted");
}

/// Reads the pieces into a buffer with capacity for one piece. The buffer must not grow.
fn read(mut pieces: Pieces) -> Vec<String> {
    let mut all = Vec::new();
    let mut more = true;
    let mut piece = Vec::with_capacity(Pieces::BYTES);
    while more {
        piece.clear();
        more = pieces.write_next(&mut piece);
        assert!(!piece.is_empty(), "a piece after the last was promised");
        all.push(String::from_utf8(piece.clone()).expect("UTF-8"));
    }
    piece.clear();
    assert!(!pieces.write_next(&mut piece));
    assert!(piece.is_empty(), "a piece after the last");
    assert_eq!(piece.capacity(), Pieces::BYTES);
    all
}

/// The time and host of each point of an answer.
fn points(answer: &str) -> Vec<(i64, String)> {
    let answer: serde_json::Value = serde_json::from_str(answer).expect("JSON");
    let points = answer["points"].as_array().expect("points");
    assert_eq!(answer["count"], points.len());
    let point = |point: &serde_json::Value| {
        let host = point["tags"]["host"].as_str().unwrap_or_default();
        let time = point["timestamp"].as_i64().expect("a time");
        (time, host.to_owned())
    };
    points.iter().map(point).collect()
}

#[test]
fn million_points_come_in_even_pieces() {
    const COUNT: i64 = 1_000_000;
    let db = db();
    let none: [(&str, &str); 0] = [];
    let mut series = db.series(&Labels::new("m", none).expect("labels"));
    let series = series.as_mut().expect("a series");
    for time in 0..COUNT {
        let sample = Sample::new(1_700_000_000_000 + time, (time % 1000) as f64 / 10.0);
        series.append(sample).expect("accepted");
    }
    let query = all("m");
    let selection = query.select(&db);
    let pieces = query.pieces(&selection);
    let held = pieces.size_bytes();
    assert!(held < 4 << 20, "{held} bytes for what is compressed");
    let pieces = read(pieces);
    let (_, full) = pieces.split_last().expect("pieces");
    for piece in full {
        assert!(piece.len() <= Pieces::BYTES);
        assert!(piece.len() > Pieces::BYTES * 9 / 10, "{}", piece.len());
    }
    let whole = pieces.concat();
    assert!(whole.ends_with(&format!(r#"],"count":{COUNT}}}"#)));
    assert!(whole == query.answer(&selection).body, "another answer");
}

#[test]
fn answer_without_points_is_one_piece() {
    let (db, query) = (db(), all("m"));
    let pieces = read(query.pieces(&query.select(&db)));
    let [piece] = &pieces[..] else {
        panic!("{pieces:?}")
    };
    assert!(piece.ends_with(r#""points":[],"count":0}"#), "{piece}");
}

/// A point is never split, even if its tags are longer than a piece.
#[test]
fn point_longer_than_piece_is_not_split() {
    let limits = Limits {
        label_value_bytes: Pieces::BYTES,
        ..Limits::default()
    };
    let db = Db::new(DbOptions {
        limits,
        ..DbOptions::default()
    });
    let long = "\u{1}".repeat(Pieces::BYTES / 6 + 1);
    for time in 0..3 {
        append(&db, &long, time, 1.0);
        append(&db, "b", time, 1.0);
    }
    let query = all("m");
    let selection = query.select(&db);
    let mut pieces = query.pieces(&selection);
    let (mut piece, mut whole, mut count) = (Vec::new(), Vec::new(), 0);
    while pieces.write_next(&mut piece) {
        count += 1;
        assert!(piece.len() < 2 * Pieces::BYTES);
        whole.append(&mut piece);
    }
    whole.append(&mut piece);
    assert!(count >= 3, "{count} pieces");
    assert_eq!(whole, query.answer(&selection).body.as_bytes());
}

/// Compares the merge with a stable sort.
#[test]
fn several_series_are_merged_by_time() {
    let mut random = StdRng::seed_from_u64(7);
    for (hosts, count, times) in [(2, 10, 3), (3, 5_000, 400), (40, 20_000, 100_000)] {
        let db = db();
        for value in 0..count {
            let host = format!("h{}", random.random_range(0..hosts));
            // Times repeat and are out of order.
            append(&db, &host, random.random_range(0..times), f64::from(value));
        }
        let query = all("m");
        let selection = query.select(&db);
        let mut expected = Vec::new();
        for series in selection.iter() {
            let host = series.labels().get("host").expect("a host");
            let mut samples = Vec::new();
            series.collect_into(&mut samples);
            expected.extend(samples.iter().map(|sample| (*sample, host.to_owned())));
        }
        expected.sort_by_key(|(sample, _)| sample.timestamp_ms);
        let expected: Vec<String> = expected
            .iter()
            .map(|(Sample { timestamp_ms, value }, host)| {
                format!(r#"{{"metric":"m","timestamp":{timestamp_ms},"value":{value},"tags":{{"host":"{host}"}}}}"#)
            })
            .collect();
        let whole = read(query.pieces(&selection)).concat();
        let (_, found) = whole.split_once(r#""points":["#).expect("points");
        let (found, _) = found.rsplit_once(']').expect("an end");
        assert!(
            found == expected.join(","),
            "{hosts} hosts in another order"
        );
    }
}

#[test]
fn later_writes_and_deletions_do_not_show() {
    let db = db();
    for time in 0..5_000 {
        append(&db, "a", time, 1.0);
        append(&db, "b", time, 2.0);
    }
    let query = all("m");
    let selection = query.select(&db);
    let before = query.answer(&selection);
    let mut pieces = query.pieces(&selection);
    let mut whole = Vec::new();
    assert!(pieces.write_next(&mut whole));
    append(&db, "a", 4_000, 3.0);
    append(&db, "c", 4_000, 3.0);
    db.delete(&[], i64::MIN, i64::MAX).expect("deleted");
    while pieces.write_next(&mut whole) {}
    assert_eq!(whole, before.body.as_bytes());
}

#[test]
fn series_deleted_after_selection_has_no_points() {
    let db = db();
    append(&db, "a", 1, 1.0);
    append(&db, "b", 2, 1.0);
    append(&db, "c", 3, 1.0);
    let query = all("m");
    let selection = query.select(&db);
    let b = Matcher::equal("host", "b");
    db.delete(&[b], i64::MIN, i64::MAX).expect("deleted");
    let whole = read(query.pieces(&selection)).concat();
    assert_eq!(points(&whole), [(1, "a".to_owned()), (3, "c".to_owned())]);
    db.delete(&[], i64::MIN, i64::MAX).expect("deleted");
    let whole = read(query.pieces(&selection)).concat();
    assert!(whole.ends_with(r#""points":[],"count":0}"#), "{whole}");
}

/// A series of few points takes no more memory than these points need.
#[test]
fn memory_grows_with_points_not_series() {
    let db = db();
    for host in 0..2_000 {
        append(&db, &format!("h{host}"), host, 1.0);
    }
    let query = all("m");
    let pieces = query.pieces(&query.select(&db));
    assert!(pieces.size_bytes() < 2_000 * 512, "{}", pieces.size_bytes());
    assert_eq!(points(&read(pieces).concat()).len(), 2_000);
}
