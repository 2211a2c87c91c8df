use proptest::prelude::*;
use prost::Message;
use tsdb::wire::remote_write::{MAX_DECODED_BYTES, Malformed, encode, write};
use tsdb::{Labels, Metadata, MetricKind, Sample};

use crate::support::wire::{contents, db, errors};

/// The messages of the protocol, encoded and decoded by prost.
mod messages {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct WriteRequest {
        #[prost(message, repeated, tag = "1")]
        pub(super) timeseries: Vec<TimeSeries>,
        #[prost(message, repeated, tag = "3")]
        pub(super) metadata: Vec<MetricMetadata>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct TimeSeries {
        #[prost(message, repeated, tag = "1")]
        pub(super) labels: Vec<Label>,
        #[prost(message, repeated, tag = "2")]
        pub(super) samples: Vec<Point>,
        #[prost(bytes = "vec", repeated, tag = "3")]
        pub(super) exemplars: Vec<Vec<u8>>,
        #[prost(bytes = "vec", repeated, tag = "4")]
        pub(super) histograms: Vec<Vec<u8>>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Label {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(string, tag = "2")]
        pub(super) value: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Point {
        #[prost(double, tag = "1")]
        pub(super) value: f64,
        #[prost(int64, tag = "2")]
        pub(super) timestamp: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct MetricMetadata {
        #[prost(int32, tag = "1")]
        pub(super) kind: i32,
        #[prost(string, tag = "2")]
        pub(super) metric: String,
        #[prost(string, tag = "4")]
        pub(super) help: String,
    }
}

use messages::{Label, MetricMetadata, Point, TimeSeries, WriteRequest};

fn label(name: &str, value: &str) -> Label {
    Label {
        name: name.into(),
        value: value.into(),
    }
}

fn body(request: &WriteRequest) -> Vec<u8> {
    snap::raw::Encoder::new()
        .compress_vec(&request.encode_to_vec())
        .expect("compressed")
}

#[test]
fn request_is_written() {
    let series = |host: &str, samples: &[(i64, f64)]| TimeSeries {
        labels: vec![label("host", host), label("__name__", "up")],
        samples: samples
            .iter()
            .map(|&(timestamp, value)| Point { value, timestamp })
            .collect(),
        exemplars: vec![vec![1, 2, 3]],
        histograms: vec![],
    };
    let request = WriteRequest {
        timeseries: vec![
            series("a", &[(1, 1.0), (2, 0.0)]),
            series("b", &[(-5, f64::INFINITY)]),
        ],
        metadata: vec![MetricMetadata {
            kind: 2,
            metric: "up".into(),
            help: "Is it?".into(),
        }],
    };
    let db = db();
    let ingested = write(&db, &body(&request)).expect("a request");
    assert_eq!((ingested.written, errors(&ingested)), (3, vec![]));
    assert_eq!(
        contents(&db),
        ["up{host=\"a\"} 1:1 2:0", "up{host=\"b\"} -5:inf"]
    );
    let metadata = Metadata {
        kind: MetricKind::Gauge,
        help: "Is it?".into(),
    };
    assert_eq!(db.metadata("up"), Some(metadata));
}

#[test]
fn wrong_series_does_not_affect_others() {
    let samples = vec![
        Point {
            value: 1.0,
            timestamp: 1,
        },
        Point {
            value: 2.0,
            timestamp: 2,
        },
    ];
    let series = |labels: Vec<Label>, histograms: Vec<Vec<u8>>| TimeSeries {
        labels,
        samples: samples.clone(),
        exemplars: vec![],
        histograms,
    };
    let request = WriteRequest {
        timeseries: vec![
            series(
                vec![label("__name__", "a"), label("x", "1"), label("x", "2")],
                vec![],
            ),
            series(vec![label("__name__", "b")], vec![vec![]]),
            series(vec![label("x", "1")], vec![]),
        ],
        metadata: vec![],
    };
    let db = db();
    let ingested = write(&db, &body(&request)).expect("a request");
    assert_eq!(ingested.written, 2);
    assert_eq!(
        errors(&ingested),
        [
            "0: label x occurs twice",
            "1: label x occurs twice",
            "4: native histograms are not stored",
            "5: the labels {x=\"1\"} have no metric name",
            "6: the labels {x=\"1\"} have no metric name",
        ],
    );
    assert_eq!(contents(&db), ["b 1:1 2:2"]);
}

#[test]
fn malformed_request_writes_nothing() {
    let compress = |bytes: &[u8]| {
        snap::raw::Encoder::new()
            .compress_vec(bytes)
            .expect("compressed")
    };
    for bytes in [
        &[0x0a, 5, 1][..],
        &[0x0b],
        &[
            0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        ],
        &[0x0a, 4, 0x0a, 2, 0x0a, 9],
    ] {
        assert_eq!(
            write(&db(), &compress(bytes)).expect_err("malformed"),
            Malformed::Message
        );
    }
    let not_utf8 = [0x0a, 5, 0x0a, 3, 0x0a, 1, 0xff];
    assert_eq!(
        write(&db(), &compress(&not_utf8)).expect_err("malformed"),
        Malformed::Message
    );
    // The first part is the metadata of a metric, the second is cut off.
    let half_right = [0x1a, 6, 8, 1, 0x12, 2, b'u', b'p', 0x1a, 2, 0x12, 9];
    let db_of_half = db();
    assert_eq!(
        write(&db_of_half, &compress(&half_right)).expect_err("malformed"),
        Malformed::Message
    );
    assert_eq!(db_of_half.metadata("up"), None);
    assert_eq!(
        write(&db(), b"not snappy").expect_err("malformed"),
        Malformed::Compression
    );
    assert_eq!(
        write(&db(), b"").expect_err("malformed"),
        Malformed::Compression
    );
}

#[test]
fn claimed_length_allocates_no_memory() {
    // Bodies of a few bytes that claim 4 GiB and 20 MiB.
    let huge = write(&db(), &[0xff, 0xff, 0xff, 0xff, 0x0f, 0]).expect_err("malformed");
    assert!(matches!(
        huge,
        Malformed::TooLarge {
            max: MAX_DECODED_BYTES,
            ..
        }
    ));
    let lying = write(&db(), &[0x80, 0x80, 0x80, 0x0a, 0]).expect_err("malformed");
    assert_eq!(lying, Malformed::Compression);
    let zeros = vec![0; MAX_DECODED_BYTES + 1];
    let dense = snap::raw::Encoder::new()
        .compress_vec(&zeros)
        .expect("compressed");
    assert!(matches!(
        write(&db(), &dense),
        Err(Malformed::TooLarge { .. })
    ));
}

proptest! {
    #[test]
    fn encoded_request_is_decoded_by_prost(
        series in prop::collection::vec(
            (prop::collection::btree_map("[a-z]{1,6}", "\\PC{1,20}", 0..4), prop::collection::vec((any::<i64>(), any::<u64>()), 0..5)),
            0..5,
        ),
    ) {
        let series: Vec<(Labels, Vec<Sample>)> = series
            .into_iter()
            .map(|(labels, samples)| {
                let sample = |(timestamp, bits)| Sample::new(timestamp, f64::from_bits(bits));
                (Labels::new("m", labels).expect("labels"), samples.into_iter().map(sample).collect())
            })
            .collect();
        let body = encode(series.iter().map(|(labels, samples)| (labels, samples.as_slice())));
        let message = snap::raw::Decoder::new().decompress_vec(&body).expect("snappy");
        let request = WriteRequest::decode(message.as_slice()).expect("a request");
        prop_assert_eq!(request.timeseries.len(), series.len());
        for (read, (labels, samples)) in request.timeseries.iter().zip(&series) {
            let pairs: Vec<_> = read.labels.iter().map(|label| (label.name.as_str(), label.value.as_str())).collect();
            let expected: Vec<_> = labels.iter().map(|label| (label.name, label.value)).collect();
            prop_assert_eq!(pairs, expected);
            let points: Vec<_> = read.samples.iter().map(|point| (point.timestamp, point.value.to_bits())).collect();
            let expected: Vec<_> = samples.iter().map(|sample| (sample.timestamp_ms, sample.value.to_bits())).collect();
            prop_assert_eq!(points, expected);
        }
    }
}
