//! The messages of the protocol that are decoded as a whole, as far as they are used. Both encodings
//! share them. A `oneof` is a list of optional fields, which has the same encoding.

use prost::Message;
use serde::Deserialize;

use super::json::{base64, hex, number, numbers, unsigned, unsigned_list};

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
}

/// A metric without its data.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct MetricHead {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) description: String,
    #[prost(string, tag = "3")]
    pub(super) unit: String,
}

/// The data of a metric without its points.
#[derive(Clone, Copy, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DataHead {
    #[prost(int32, tag = "2")]
    pub(super) aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    pub(super) is_monotonic: bool,
}

/// A message whose content is not used.
#[derive(Clone, Copy, PartialEq, Message, Deserialize)]
pub(super) struct Unread {}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct NumberPoint {
    #[prost(fixed64, tag = "3")]
    #[serde(deserialize_with = "unsigned")]
    pub(super) time_unix_nano: u64,
    #[prost(double, optional, tag = "4")]
    #[serde(deserialize_with = "number")]
    pub(super) as_double: Option<f64>,
    #[prost(sfixed64, optional, tag = "6")]
    #[serde(deserialize_with = "number")]
    pub(super) as_int: Option<i64>,
    #[prost(message, repeated, tag = "5")]
    pub(super) exemplars: Vec<Exemplar>,
    #[prost(message, repeated, tag = "7")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "8")]
    pub(super) flags: u32,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HistogramPoint {
    #[prost(fixed64, tag = "3")]
    #[serde(deserialize_with = "unsigned")]
    pub(super) time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    #[serde(deserialize_with = "unsigned")]
    pub(super) count: u64,
    #[prost(double, optional, tag = "5")]
    #[serde(deserialize_with = "number")]
    pub(super) sum: Option<f64>,
    #[prost(fixed64, repeated, tag = "6")]
    #[serde(deserialize_with = "unsigned_list")]
    pub(super) bucket_counts: Vec<u64>,
    #[prost(double, repeated, tag = "7")]
    #[serde(deserialize_with = "numbers")]
    pub(super) explicit_bounds: Vec<f64>,
    #[prost(message, repeated, tag = "8")]
    pub(super) exemplars: Vec<Exemplar>,
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "10")]
    pub(super) flags: u32,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ExponentialPoint {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "3")]
    #[serde(deserialize_with = "unsigned")]
    pub(super) time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    #[serde(deserialize_with = "unsigned")]
    pub(super) count: u64,
    #[prost(double, optional, tag = "5")]
    #[serde(deserialize_with = "number")]
    pub(super) sum: Option<f64>,
    #[prost(sint32, tag = "6")]
    pub(super) scale: i32,
    #[prost(fixed64, tag = "7")]
    #[serde(deserialize_with = "unsigned")]
    pub(super) zero_count: u64,
    #[prost(message, optional, tag = "8")]
    pub(super) positive: Option<ExponentialBuckets>,
    #[prost(message, optional, tag = "9")]
    pub(super) negative: Option<ExponentialBuckets>,
    #[prost(uint32, tag = "10")]
    pub(super) flags: u32,
    #[prost(message, repeated, tag = "11")]
    pub(super) exemplars: Vec<Exemplar>,
    #[prost(double, tag = "14")]
    pub(super) zero_threshold: f64,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ExponentialBuckets {
    #[prost(sint32, tag = "1")]
    pub(super) offset: i32,
    #[prost(uint64, repeated, tag = "2")]
    #[serde(deserialize_with = "unsigned_list")]
    pub(super) bucket_counts: Vec<u64>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SummaryPoint {
    #[prost(fixed64, tag = "3")]
    #[serde(deserialize_with = "unsigned")]
    pub(super) time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    #[serde(deserialize_with = "unsigned")]
    pub(super) count: u64,
    #[prost(double, optional, tag = "5")]
    #[serde(deserialize_with = "number")]
    pub(super) sum: Option<f64>,
    #[prost(message, repeated, tag = "6")]
    pub(super) quantile_values: Vec<Quantile>,
    #[prost(message, repeated, tag = "7")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "8")]
    pub(super) flags: u32,
}

#[derive(Clone, Copy, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct Quantile {
    #[prost(double, optional, tag = "1")]
    #[serde(deserialize_with = "number")]
    pub(super) quantile: Option<f64>,
    #[prost(double, optional, tag = "2")]
    #[serde(deserialize_with = "number")]
    pub(super) value: Option<f64>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Exemplar {
    #[prost(fixed64, tag = "2")]
    #[serde(deserialize_with = "unsigned")]
    pub(super) time_unix_nano: u64,
    #[prost(double, optional, tag = "3")]
    #[serde(deserialize_with = "number")]
    pub(super) as_double: Option<f64>,
    #[prost(sfixed64, optional, tag = "6")]
    #[serde(deserialize_with = "number")]
    pub(super) as_int: Option<i64>,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(deserialize_with = "hex")]
    pub(super) span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    #[serde(deserialize_with = "hex")]
    pub(super) trace_id: Vec<u8>,
    #[prost(message, repeated, tag = "7")]
    pub(super) filtered_attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, boxed, tag = "2")]
    pub(super) value: Option<Box<AnyValue>>,
}

/// At most one of the fields is present.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AnyValue {
    #[prost(string, optional, tag = "1")]
    pub(super) string_value: Option<String>,
    #[prost(bool, optional, tag = "2")]
    pub(super) bool_value: Option<bool>,
    #[prost(int64, optional, tag = "3")]
    #[serde(deserialize_with = "number")]
    pub(super) int_value: Option<i64>,
    #[prost(double, optional, tag = "4")]
    #[serde(deserialize_with = "number")]
    pub(super) double_value: Option<f64>,
    #[prost(message, optional, tag = "5")]
    pub(super) array_value: Option<Values>,
    #[prost(message, optional, tag = "6")]
    pub(super) kvlist_value: Option<KeyValues>,
    #[prost(bytes = "vec", optional, tag = "7")]
    #[serde(deserialize_with = "base64")]
    pub(super) bytes_value: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct Values {
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct KeyValues {
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<KeyValue>,
}
