//! A sender of remote write encodes the labels of a series in the same bytes every time. The
//! database remembers these bytes as the alias of the series, to find it faster. Results must not
//! depend on aliases.

use conformance_suite::stride;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tsdb::wire::remote_write::write;
use tsdb::{Db, DbOptions, DuplicatePolicy, Limits, Matcher, OpenOptions, Sample};

use crate::support::wire::{contents, db, errors};

/// A length-delimited field.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
    out
}

fn label(name: &str, value: &str) -> Vec<u8> {
    let parts = [field(1, name.as_bytes()), field(2, value.as_bytes())];
    field(1, &parts.concat())
}

fn sample(timestamp_ms: u8, value: f64) -> Vec<u8> {
    let parts = [
        &[1 << 3 | 1][..],
        &value.to_le_bytes(),
        &[2 << 3, timestamp_ms],
    ];
    field(2, &parts.concat())
}

/// A request with these series, each a list of fields.
fn request<const N: usize>(series: &[[Vec<u8>; N]]) -> Vec<u8> {
    let all: Vec<u8> = series
        .iter()
        .flat_map(|parts| field(1, &parts.concat()))
        .collect();
    snap::raw::Encoder::new()
        .compress_vec(&all)
        .expect("compressed")
}

/// A request with one sample of `up{host=…}`.
fn host_request(host: &str, time: u8, value: f64) -> Vec<u8> {
    request(&[[
        label("__name__", "up"),
        label("host", host),
        sample(time, value),
    ]])
}

fn written(db: &Db, body: &[u8]) -> usize {
    let ingested = write(db, body).expect("a request");
    assert_eq!(errors(&ingested), Vec::<String>::new());
    ingested.written
}

#[test]
fn labels_after_samples_belong_to_series() {
    let db = db();
    for time in 1..4 {
        assert_eq!(written(&db, &host_request("a", time, 0.0)), 1);
    }
    let more = [
        label("__name__", "up"),
        label("host", "a"),
        sample(4, 1.0),
        label("zone", "z"),
    ];
    for _ in 0..2 {
        assert_eq!(written(&db, &request(std::slice::from_ref(&more))), 1);
    }
    // The same series with its labels in another order.
    let turned = [label("host", "a"), sample(5, 2.0), label("__name__", "up")];
    assert_eq!(written(&db, &request(&[turned])), 1);
    let empty = [
        label("__name__", "up"),
        label("empty", ""),
        label("host", "a"),
        sample(6, 3.0),
    ];
    assert_eq!(written(&db, &request(&[empty])), 1);
    assert_eq!(
        contents(&db),
        [
            "up{host=\"a\",zone=\"z\"} 4:1 4:1",
            "up{host=\"a\"} 1:0 2:0 3:0 5:2 6:3",
        ],
    );
}

#[test]
fn points_under_two_aliases_of_series_are_all_or_nothing() {
    let db = Db::new(DbOptions {
        duplicates: DuplicatePolicy::Reject,
        ..DbOptions::default()
    });
    let one = |time| {
        [
            label("__name__", "up"),
            label("host", "a"),
            sample(time, 1.0),
        ]
    };
    let other = |time| {
        [
            label("host", "a"),
            label("__name__", "up"),
            sample(time, 2.0),
        ]
    };
    assert_eq!(written(&db, &request(&[one(1), other(2)])), 2);
    assert_eq!(written(&db, &request(&[one(3), other(4)])), 2);
    let ingested = write(&db, &request(&[one(5), other(4), one(6)])).expect("a request");
    assert_eq!(ingested.written, 0);
    assert_eq!(ingested.refused, 3);
    assert_eq!(contents(&db), ["up{host=\"a\"} 1:1 2:2 3:1 4:2"]);
}

#[test]
fn ended_series_begins_again_under_its_alias() {
    let db = db();
    let host_a = [Matcher::equal("host", "a")];
    written(&db, &host_request("a", 1, 1.0));
    written(&db, &host_request("a", 2, 1.0));
    db.delete(&host_a, i64::MIN, i64::MAX).expect("deleted");
    // These series take all free slots.
    for host in 0..200 {
        written(&db, &host_request(&format!("b{host}"), 1, 0.0));
    }
    for time in 3..6 {
        written(&db, &host_request("a", time, 2.0));
    }
    let host_a_lines: Vec<String> = contents(&db)
        .into_iter()
        .filter(|line| !line.contains("\"b"))
        .collect();
    assert_eq!(host_a_lines, ["up{host=\"a\"} 3:2 4:2 5:2"]);
    assert!(contents(&db).contains(&"up{host=\"b7\"} 1:0".to_owned()));
    assert_eq!(db.series_count(), 201);
}

#[test]
fn series_limit_applies_to_alias_of_ended_series() {
    let db = Db::new(DbOptions {
        limits: Limits {
            series: Some(1),
            ..Limits::default()
        },
        ..DbOptions::default()
    });
    written(&db, &host_request("a", 1, 1.0));
    db.delete(&[], i64::MIN, i64::MAX).expect("deleted");
    written(&db, &host_request("b", 1, 1.0));
    let ingested = write(&db, &host_request("a", 2, 1.0)).expect("a request");
    assert_eq!(errors(&ingested), ["0: the limit of 1 series is reached"]);
    written(&db, &host_request("b", 2, 1.0));
    assert_eq!(contents(&db), ["up{host=\"b\"} 1:1 2:1"]);
}

#[test]
fn aliases_are_per_database_and_lost_on_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Db::open(folder.path(), OpenOptions::default()).expect("opened");
    let (first, second) = (db(), open());
    // The second database gets the series in reverse order, so that they have other slots than in
    // the first.
    let hosts: Vec<String> = (0..300).map(|host| host.to_string()).collect();
    for host in &hosts {
        written(&first, &host_request(host, 1, 1.0));
    }
    for host in hosts.iter().rev() {
        written(&second, &host_request(host, 1, 1.0));
    }
    for time in 2..4 {
        for host in &hosts {
            written(&first, &host_request(host, time, 1.0));
            written(&second, &host_request(host, time, 1.0));
        }
    }
    assert_eq!(contents(&first), contents(&second));
    second.close().expect("closed");
    drop(second);
    let second = open();
    for host in &hosts {
        written(&first, &host_request(host, 4, 1.0));
        written(&second, &host_request(host, 4, 1.0));
    }
    assert_eq!(contents(&first), contents(&second));
}

#[test]
fn aliases_beyond_limit_are_still_written() {
    let db = db();
    let names: Vec<String> = (0..70_000).map(|host| host.to_string()).collect();
    for time in 1..4 {
        let all: Vec<_> = names
            .iter()
            .map(|host| {
                [
                    label("__name__", "up"),
                    label("host", host),
                    sample(time, 1.0),
                ]
            })
            .collect();
        assert_eq!(written(&db, &request(&all)), names.len());
    }
    let long = "x".repeat(4_000);
    for time in 1..4 {
        for host in 0..3_000 {
            written(&db, &host_request(&format!("{long}{host}"), time, 1.0));
        }
    }
    assert_eq!(db.series_count(), 73_000);
    for series in db.select(&[], i64::MIN, i64::MAX).iter() {
        let mut samples = Vec::new();
        series.collect_into(&mut samples);
        assert_eq!(samples.len(), 3, "{}", series.labels());
    }
}

/// Random requests and deletions, compared with a database that gets the same points one by one.
#[test]
fn random_aliases_and_deletions_match_single_writes() {
    const SEED: u64 = 7;
    let mut random = StdRng::seed_from_u64(SEED);
    let (named, single) = (db(), db());
    let mut time = 0;
    for round in 0..2_000 {
        if random.random_ratio(1, 10) {
            let host = random.random_range(0..20).to_string();
            let matchers = [Matcher::equal("host", host)];
            let to_ms = random.random_range(time / 2..=time);
            for db in [&named, &single] {
                db.delete(&matchers, i64::MIN, to_ms).expect("deleted");
            }
            continue;
        }
        time += 1;
        let mut body = Vec::new();
        let first = random.random_range(0..20);
        for offset in 0..random.random_range(1..12) {
            let host = ((first + offset) % 20).to_string();
            let value = f64::from(round);
            let mut parts = vec![label("__name__", "up"), label("host", &host)];
            if random.random_ratio(1, 8) {
                parts.reverse();
            }
            let timestamp_field = vec![2 << 3, time as u8 | 0x80, (time >> 7) as u8];
            let point = [&[1 << 3 | 1][..], &value.to_le_bytes(), &timestamp_field].concat();
            let before_a_label = usize::from(random.random_ratio(1, 8));
            parts.insert(parts.len() - before_a_label, field(2, &point));
            body.extend(field(1, &parts.concat()));
            let labels = tsdb::Labels::new("up", [("host", host)]).expect("labels");
            let sample = Sample::new(time, value);
            single.append(&labels, sample).expect("appended");
        }
        let body = snap::raw::Encoder::new().compress_vec(&body);
        let ingested = write(&named, &body.expect("compressed")).expect("a request");
        assert_eq!(ingested.refused, 0, "round {round}, seed {SEED}");
        // Compare only now and then, because comparing takes longer than writing.
        if (round + 1) % stride(20) as u32 != 0 {
            continue;
        }
        assert_eq!(
            contents(&named),
            contents(&single),
            "round {round}, seed {SEED}"
        );
    }
    assert_eq!(contents(&named), contents(&single), "seed {SEED}");
}
