//! Version 2 of remote write, and the exemplars of both versions.

use prost::Message;
use tsdb::wire::remote_write::{Malformed, Received, Version, receive};
use tsdb::{Db, DbOptions, Exemplars, Matcher, Metadata, MetricKind};

use crate::support::wire::{contents, errors};

mod messages;

use messages::{Exemplar, Label, OldExemplar, OldRequest, OldSeries, Request, Sample, TimeSeries};

const SYMBOLS: [&str; 13] = [
    "",
    "__name__",
    "requests_total",
    "host",
    "a",
    "latency_bucket",
    "trace_id",
    "5f0c",
    "Served requests",
    "le",
    "0.5",
    "load",
    "quantile",
];
/// `requests_total{host="a"}`
const REQUESTS: [u32; 4] = [1, 2, 3, 4];
/// `latency_bucket{le="0.5"}`
const LATENCY: [u32; 4] = [9, 10, 1, 5];
/// `load`
const LOAD: [u32; 2] = [1, 11];
const COUNTER: i32 = 1;
const GAUGE: i32 = 2;
const HISTOGRAM: i32 = 3;

fn sample(timestamp: i64, value: f64) -> Sample {
    Sample {
        value,
        timestamp,
        start_timestamp: 0,
    }
}

fn started(start_timestamp: i64, sample: Sample) -> Sample {
    Sample {
        start_timestamp,
        ..sample
    }
}

fn series(labels: &[u32], samples: impl Into<Vec<Sample>>) -> TimeSeries {
    TimeSeries {
        labels_refs: labels.to_vec(),
        samples: samples.into(),
        ..TimeSeries::default()
    }
}

fn metadata(kind: i32, help_ref: u32) -> Option<messages::Metadata> {
    Some(messages::Metadata {
        kind,
        help_ref,
        unit_ref: 0,
    })
}

fn exemplar(labels: &[u32], timestamp: i64) -> Exemplar {
    Exemplar {
        labels_refs: labels.to_vec(),
        value: 0.25,
        timestamp,
    }
}

fn compressed(message: &impl Message) -> Vec<u8> {
    snap::raw::Encoder::new()
        .compress_vec(&message.encode_to_vec())
        .expect("compressed")
}

/// A database and its exemplars.
struct Server {
    db: Db,
    exemplars: Exemplars,
}

impl Server {
    fn new() -> Self {
        Self {
            db: Db::new(DbOptions::default()),
            exemplars: Exemplars::new(1 << 20),
        }
    }

    fn send(&self, timeseries: impl Into<Vec<TimeSeries>>) -> Result<Received, Malformed> {
        let request = Request {
            symbols: SYMBOLS.map(str::to_owned).to_vec(),
            timeseries: timeseries.into(),
        };
        receive(
            &self.db,
            &self.exemplars,
            Version::V2,
            &compressed(&request),
        )
    }

    /// The exemplars of a metric: `labels timestamp:value`.
    fn exemplars(&self, metric: &str) -> Vec<String> {
        let found = self
            .exemplars
            .select(&[vec![Matcher::metric(metric)]], i64::MIN, i64::MAX);
        let lines = found.values().flatten().map(|exemplar| {
            let (labels, sample) = (&exemplar.labels, exemplar.sample);
            format!("{labels} {}:{}", sample.timestamp_ms, sample.value)
        });
        lines.collect()
    }
}

#[test]
fn samples_metadata_and_exemplars_are_written() {
    let server = Server::new();
    let received = server.send([
        TimeSeries {
            metadata: metadata(COUNTER, 8),
            ..series(&REQUESTS, [sample(1000, 1.0), sample(2000, 3.0)])
        },
        TimeSeries {
            exemplars: vec![exemplar(&[6, 7], 900), exemplar(&[], 800)],
            metadata: metadata(HISTOGRAM, 0),
            ..series(&LATENCY, [sample(1000, 7.0)])
        },
    ]);
    let received = received.expect("the request is valid");
    assert_eq!(
        (received.ingested.written, received.ingested.refused),
        (3, 0)
    );
    assert_eq!(received.exemplars, 2);
    assert_eq!(
        contents(&server.db),
        [
            r#"latency_bucket{le="0.5"} 1000:7"#,
            r#"requests_total{host="a"} 1000:1 2000:3"#,
        ]
    );
    assert_eq!(
        server.exemplars("latency_bucket"),
        ["{} 800:0.25", r#"{trace_id="5f0c"} 900:0.25"#]
    );
    let requests = Metadata {
        kind: MetricKind::Counter,
        help: "Served requests".to_owned(),
    };
    assert_eq!(server.db.metadata("requests_total"), Some(requests));
    // The parts of a histogram are described by its own name.
    let latency = server.db.metadata("latency").unwrap_or_default();
    assert_eq!(latency.kind, MetricKind::Histogram);
    assert_eq!(server.db.metadata("latency_bucket"), None);
}

#[test]
fn series_without_samples_may_have_metadata_and_exemplars() {
    let server = Server::new();
    let received = server.send([TimeSeries {
        exemplars: vec![exemplar(&[6, 7], 900)],
        metadata: metadata(GAUGE, 8),
        ..series(&LOAD, [])
    }]);
    let received = received.expect("the request is valid");
    assert_eq!(
        (received.ingested.written, received.ingested.refused),
        (0, 0)
    );
    assert_eq!(received.exemplars, 1);
    assert_eq!(server.db.series_count(), 0);
    assert!(server.db.metadata("load").is_some());
    assert_eq!(server.exemplars("load").len(), 1);
}

/// Metadata is optional, so a request without it must not erase what is known.
#[test]
fn missing_metadata_changes_nothing() {
    let server = Server::new();
    for metadata in [metadata(GAUGE, 8), None, metadata(0, 0)] {
        let load = TimeSeries {
            metadata,
            ..series(&LOAD, [sample(1000, 1.0)])
        };
        let received = server.send([load]).expect("the request is valid");
        assert_eq!(received.ingested.written, 1);
        let known = server.db.metadata("load").unwrap_or_default();
        assert_eq!(known.kind, MetricKind::Gauge);
    }
}

#[test]
fn request_with_a_wrong_reference_writes_nothing() {
    let wrong = [
        series(&[1, 13], [sample(1000, 1.0)]),
        series(&[1, 2, 3], [sample(1000, 1.0)]),
        TimeSeries {
            exemplars: vec![exemplar(&[6, 13], 900)],
            ..series(&LOAD, [])
        },
        TimeSeries {
            exemplars: vec![exemplar(&[6], 900)],
            ..series(&LOAD, [])
        },
        TimeSeries {
            metadata: metadata(GAUGE, 13),
            ..series(&LOAD, [])
        },
    ];
    for wrong in wrong {
        let server = Server::new();
        let valid = TimeSeries {
            exemplars: vec![exemplar(&[6, 7], 900)],
            metadata: metadata(COUNTER, 8),
            created_timestamp: 500,
            ..series(&REQUESTS, [sample(1000, 1.0)])
        };
        let received = server.send([valid, wrong]);
        assert_eq!(received.err(), Some(Malformed::Message));
        assert_eq!(server.db.series_count(), 0);
        assert!(server.db.all_metadata().is_empty());
        assert!(server.exemplars.is_empty());
    }
}

#[test]
fn faulty_series_and_native_histograms_do_not_affect_the_others() {
    let server = Server::new();
    let received = server.send([
        TimeSeries {
            exemplars: vec![exemplar(&[6, 7], 900)],
            ..series(&[3, 4], [sample(1000, 1.0), sample(2000, 2.0)])
        },
        TimeSeries {
            histograms: vec![vec![], vec![]],
            exemplars: vec![exemplar(&[6, 7], 900), exemplar(&[6, 7, 6, 7], 900)],
            ..series(&LATENCY, [])
        },
        series(&REQUESTS, [sample(1000, 1.0)]),
    ]);
    let received = received.expect("the request is valid");
    let ingested = &received.ingested;
    assert_eq!((ingested.written, ingested.refused), (1, 5));
    assert_eq!((received.exemplars, received.histograms), (1, 2));
    assert_eq!(
        errors(ingested),
        [
            r#"0: the labels {host="a"} have no metric name"#,
            r#"1: the labels {host="a"} have no metric name"#,
            "2: native histograms are not stored",
            "3: native histograms are not stored",
            "5: label trace_id occurs twice",
        ]
    );
    assert_eq!(contents(&server.db), [r#"requests_total{host="a"} 1000:1"#]);
    assert_eq!(server.exemplars("latency_bucket").len(), 1);
}

/// Without a zero at the start of a counter, its first sample does not count as an increase.
#[test]
fn counter_begins_at_zero_at_its_created_timestamp() {
    let server = Server::new();
    let send = |series: TimeSeries| {
        let received = server.send([series]).expect("the request is valid");
        assert_eq!(
            (received.ingested.written, received.ingested.refused),
            (1, 0)
        );
    };
    let created = |timestamp, created_timestamp| TimeSeries {
        created_timestamp,
        metadata: metadata(COUNTER, 0),
        ..series(&REQUESTS, [sample(timestamp, 5.0)])
    };
    let requests = |samples: &str| format!(r#"requests_total{{host="a"}} {samples}"#);
    send(created(2000, 1000));
    assert_eq!(contents(&server.db), [requests("1000:0 2000:5")]);
    // The counter runs on.
    send(created(3000, 1000));
    assert_eq!(contents(&server.db), [requests("1000:0 2000:5 3000:5")]);
    // It begins again. Later versions of the protocol tell that by sample.
    send(TimeSeries {
        metadata: metadata(COUNTER, 0),
        ..series(&REQUESTS, [started(3500, sample(4000, 5.0))])
    });
    let again = requests("1000:0 2000:5 3000:5 3500:0 4000:5");
    assert_eq!(contents(&server.db), [again.as_str()]);
    // Neither a start in the past, nor one at or after the sample, says anything new.
    send(created(5000, 2500));
    send(created(6000, 6000));
    send(created(7000, 8000));
    let all = format!("{again} 5000:5 6000:5 7000:5");
    assert_eq!(contents(&server.db), [all.as_str()]);
    // A gauge does not begin at zero.
    send(TimeSeries {
        created_timestamp: 1000,
        metadata: metadata(GAUGE, 0),
        ..series(&LOAD, [sample(2000, 5.0)])
    });
    assert_eq!(contents(&server.db), ["load 2000:5", all.as_str()]);
}

/// A zero once was written at the start of each series that was no gauge, so averages and minima
/// showed values that no one had measured.
#[test]
fn only_series_that_count_begin_at_zero() {
    const UNKNOWN: i32 = 0;
    const GAUGE_HISTOGRAM: i32 = 4;
    const SUMMARY: i32 = 5;
    const INFO: i32 = 6;
    const STATE_SET: i32 = 7;
    // `load{quantile="0.5"}`
    const QUANTILE: [u32; 4] = [1, 11, 12, 10];
    for (labels, kind, begins) in [
        (&REQUESTS[..], COUNTER, true),
        (&LATENCY, HISTOGRAM, true),
        (&LOAD, SUMMARY, true),
        (&QUANTILE, SUMMARY, false),
        (&LOAD, UNKNOWN, false),
        (&LOAD, GAUGE, false),
        (&LOAD, GAUGE_HISTOGRAM, false),
        (&LOAD, INFO, false),
        (&LOAD, STATE_SET, false),
    ] {
        for (created_timestamp, start_timestamp) in [(1000, 0), (0, 1000)] {
            let server = Server::new();
            let sent = server.send([TimeSeries {
                created_timestamp,
                metadata: metadata(kind, 0),
                ..series(labels, [started(start_timestamp, sample(2000, 5.0))])
            }]);
            assert_eq!(sent.expect("the request is valid").ingested.written, 1);
            let samples = contents(&server.db);
            let has_zero = samples[0].ends_with("1000:0 2000:5");
            assert_eq!(has_zero, begins, "kind {kind}: {samples:?}");
        }
    }
}

#[test]
fn references_may_come_one_by_one() {
    let server = Server::new();
    // Symbols "", "__name__" and "up"; a series with the references 1 and 2 and a sample of 1 at 7.
    let message = b"\x22\x00\x22\x08__name__\x22\x02up\
        \x2a\x11\x08\x01\x08\x02\x12\x0b\x09\x00\x00\x00\x00\x00\x00\xf0\x3f\x10\x07";
    let body = snap::raw::Encoder::new()
        .compress_vec(message)
        .expect("compressed");
    let received = receive(&server.db, &server.exemplars, Version::V2, &body);
    assert_eq!(received.expect("the request is valid").ingested.written, 1);
    assert_eq!(contents(&server.db), ["up 7:1"]);
}

#[test]
fn version_1_has_exemplars_too() {
    let server = Server::new();
    let label = |name: &str, value: &str| Label {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let request = |exemplar_labels| OldRequest {
        timeseries: vec![OldSeries {
            labels: vec![label("__name__", "up"), label("job", "a")],
            samples: vec![sample(1000, 1.0)],
            exemplars: vec![OldExemplar {
                labels: exemplar_labels,
                value: 0.5,
                timestamp: 900,
            }],
        }],
    };
    // The second time, the database knows the series by the bytes of its labels.
    for _ in 0..2 {
        let body = compressed(&request(vec![label("trace_id", "5f0c")]));
        let received = receive(&server.db, &server.exemplars, Version::V1, &body);
        assert_eq!(received.expect("the request is valid").exemplars, 1);
    }
    assert_eq!(server.exemplars("up"), [r#"{trace_id="5f0c"} 900:0.5"#]);
    let wrong = request(vec![label("", "no name")]);
    let received = receive(
        &server.db,
        &server.exemplars,
        Version::V1,
        &compressed(&wrong),
    );
    let received = received.expect("the request is valid");
    assert_eq!(
        (received.ingested.written, received.ingested.refused),
        (1, 1)
    );
    assert_eq!(received.exemplars, 0);
}

#[test]
fn oldest_exemplars_make_room_for_new_ones() {
    let server = Server {
        exemplars: Exemplars::new(10_000),
        ..Server::new()
    };
    for round in 0..100 {
        let exemplars = (0..10).map(|index| exemplar(&[6, 7], round * 10 + index));
        let load = TimeSeries {
            exemplars: exemplars.collect(),
            ..series(&LOAD, [])
        };
        let received = server.send([load]).expect("the request is valid");
        assert_eq!(received.exemplars, 10);
    }
    let kept = server.exemplars.len();
    assert!((20..500).contains(&kept), "{kept} exemplars");
    let times: Vec<String> = (1000 - kept..1000)
        .map(|time| format!(r#"{{trace_id="5f0c"}} {time}:0.25"#))
        .collect();
    assert_eq!(server.exemplars("load"), times);
    let none = Server {
        exemplars: Exemplars::new(10),
        ..Server::new()
    };
    let load = TimeSeries {
        exemplars: vec![exemplar(&[6, 7], 0)],
        ..series(&LOAD, [])
    };
    let received = none.send([load]).expect("the request is valid");
    assert_eq!((received.exemplars, received.ingested.refused), (0, 1));
}
