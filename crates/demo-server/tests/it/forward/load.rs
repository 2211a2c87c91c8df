//! Samples with known values, written by remote write, and what a receiver should have of them.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{Method, StatusCode};
use tsdb::wire::remote_write::encode;
use tsdb::{Labels, STALE_MARKER, Sample};

use crate::support::Client;

/// The metric of all series of a load.
pub(super) const METRIC: &str = "forwarded";

/// Timestamps with the bits of their values, by the label `series`.
pub(super) type Contents = BTreeMap<String, Vec<(i64, u64)>>;

/// Values of every kind. The last one is a negative zero.
pub(super) const ANY: [f64; 9] = [
    STALE_MARKER,
    f64::NAN,
    // A NaN with another payload.
    f64::from_bits(0x7ff8_dead_beef_0001),
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MIN_POSITIVE / 4.0,
    0.1 + 0.2,
    1e300,
    -0.0,
];

/// Values that survive a conversion to decimals of 15 digits.
pub(super) const DECIMAL: [f64; 5] = [0.0, -1.5, 123.456, 1e6, 0.001];

const SERIES: usize = 20;
const SAMPLES: i64 = 5;

/// A load in progress.
pub(super) struct Load {
    values: &'static [f64],
    next_ms: i64,
    pub(super) acknowledged: Contents,
}

impl Load {
    /// Receivers refuse samples that are too old or too far ahead, so the times are those of the last
    /// hour.
    pub(super) fn new(values: &'static [f64]) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.expect("the clock is right").as_millis();
        Self {
            values,
            next_ms: i64::try_from(now_ms).expect("it fits") - 30 * 60 * 1000,
            acknowledged: Contents::new(),
        }
    }

    /// Writes a request, and remembers what the server acknowledged.
    pub(super) async fn write(&mut self, client: &Client) {
        let from = self.next_ms;
        self.next_ms += SAMPLES * 10;
        let mut series = Vec::new();
        for number in 0..SERIES {
            let name = number.to_string();
            let labels = Labels::new(METRIC, [("series", &name)]).expect("valid");
            let samples: Vec<Sample> = (0..SAMPLES)
                .map(|index| {
                    let at = from + index * 10;
                    let value = (at as usize / 10 + number) % self.values.len();
                    Sample::new(at, self.values[value])
                })
                .collect();
            series.push((name, labels, samples));
        }
        let body = encode(
            series
                .iter()
                .map(|(_, labels, samples)| (labels, samples.as_slice())),
        );
        let request = client
            .request(Method::POST, "/api/v1/write")
            .header("content-encoding", "snappy")
            .header("content-type", "application/x-protobuf");
        let answer = client.send(request, body).await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.text());
        for (name, _, samples) in series {
            let bits = samples
                .iter()
                .map(|sample| (sample.timestamp_ms, sample.value.to_bits()));
            self.acknowledged.entry(name).or_default().extend(bits);
        }
    }
}

/// Compares without printing thousands of samples.
#[track_caller]
pub(super) fn assert_equal(received: &Contents, wanted: &Contents) {
    assert!(received.keys().eq(wanted.keys()), "{:?}", received.keys());
    for (name, wanted) in wanted {
        let received = &received[name];
        let differs = received
            .iter()
            .zip(wanted)
            .position(|(one, other)| one != other);
        if let Some(index) = differs {
            panic!(
                "series {name}: {:x?} instead of {:x?}",
                received[index], wanted[index]
            );
        }
        assert_eq!(received.len(), wanted.len(), "series {name}");
    }
}
