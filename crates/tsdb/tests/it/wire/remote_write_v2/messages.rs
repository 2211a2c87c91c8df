//! The messages of the protocol, encoded by prost.

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Request {
    #[prost(string, repeated, tag = "4")]
    pub(super) symbols: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    pub(super) timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TimeSeries {
    #[prost(uint32, repeated, tag = "1")]
    pub(super) labels_refs: Vec<u32>,
    #[prost(message, repeated, tag = "2")]
    pub(super) samples: Vec<Sample>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub(super) histograms: Vec<Vec<u8>>,
    #[prost(message, repeated, tag = "4")]
    pub(super) exemplars: Vec<Exemplar>,
    #[prost(message, optional, tag = "5")]
    pub(super) metadata: Option<Metadata>,
    #[prost(int64, tag = "6")]
    pub(super) created_timestamp: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Sample {
    #[prost(double, tag = "1")]
    pub(super) value: f64,
    #[prost(int64, tag = "2")]
    pub(super) timestamp: i64,
    #[prost(int64, tag = "3")]
    pub(super) start_timestamp: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Exemplar {
    #[prost(uint32, repeated, tag = "1")]
    pub(super) labels_refs: Vec<u32>,
    #[prost(double, tag = "2")]
    pub(super) value: f64,
    #[prost(int64, tag = "3")]
    pub(super) timestamp: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Metadata {
    #[prost(int32, tag = "1")]
    pub(super) kind: i32,
    #[prost(uint32, tag = "3")]
    pub(super) help_ref: u32,
    #[prost(uint32, tag = "4")]
    pub(super) unit_ref: u32,
}

/// A series of version 1 with exemplars.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OldRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) timeseries: Vec<OldSeries>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OldSeries {
    #[prost(message, repeated, tag = "1")]
    pub(super) labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    pub(super) samples: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub(super) exemplars: Vec<OldExemplar>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Label {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OldExemplar {
    #[prost(message, repeated, tag = "1")]
    pub(super) labels: Vec<Label>,
    #[prost(double, tag = "2")]
    pub(super) value: f64,
    #[prost(int64, tag = "3")]
    pub(super) timestamp: i64,
}
