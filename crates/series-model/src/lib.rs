#![doc = include_str!("../README.md")]

mod error;
mod exemplar;
mod json_string;
mod labels;
mod labels_builder;
mod matcher;
mod pattern;
mod re2;
mod sample;

pub use error::LabelError;
pub use exemplar::Exemplar;
pub use json_string::push_json_string;
pub use labels::{Label, LabelIter, Labels, LabelsRef};
pub use labels_builder::LabelsBuilder;
pub use matcher::{Condition, MatchOp, Matcher};
pub use pattern::Pattern;
pub use re2::translate_re2;
pub use sample::{STALE_MARKER, Sample, is_stale};

/// The label that holds the metric name.
pub const METRIC_NAME: &str = "__name__";
