//! Answers as the JSON of Prometheus' HTTP interface.

use std::fmt::Write;

use series_model::push_json_string;

use super::number::push_number;
use super::{QueryError, Value};
use crate::{Labels, Sample};

/// The body that Prometheus sends for this answer: `{"status":"success","data":…}`, or
/// `{"status":"error","errorType":…,"error":…}` (with [`QueryError::status`]).
pub fn to_json(answer: &Result<Value, QueryError>) -> String {
    let mut out = String::new();
    match answer {
        Ok(value) => {
            out.push_str(r#"{"status":"success","data":"#);
            push_data(&mut out, value);
        }
        Err(error) => {
            out.push_str(r#"{"status":"error","errorType":"#);
            push_json_string(&mut out, error.error_type());
            out.push_str(r#","error":"#);
            push_json_string(&mut out, &error.to_string());
        }
    }
    out.push('}');
    out
}

fn push_data(out: &mut String, value: &Value) {
    let kind = match value {
        Value::Scalar(_) => "scalar",
        Value::String { .. } => "string",
        Value::Vector(_) => "vector",
        Value::Matrix(_) => "matrix",
    };
    let _ = write!(out, r#"{{"resultType":"{kind}","result":"#);
    match value {
        Value::Scalar(sample) => push_sample(out, *sample),
        Value::String { timestamp_ms, text } => {
            out.push('[');
            push_time(out, *timestamp_ms);
            out.push(',');
            push_json_string(out, text);
            out.push(']');
        }
        Value::Vector(vector) => push_list(out, vector, |out, series| {
            push_metric(out, &series.labels);
            out.push_str(r#","value":"#);
            push_sample(out, series.sample);
            out.push('}');
        }),
        Value::Matrix(matrix) => push_list(out, matrix, |out, series| {
            push_metric(out, &series.labels);
            out.push_str(r#","values":"#);
            push_list(out, &series.samples, |out, sample| {
                push_sample(out, *sample);
            });
            out.push('}');
        }),
    }
    out.push('}');
}

pub(super) fn push_list<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    push: impl Fn(&mut String, T),
) {
    out.push('[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(']');
}

fn push_metric(out: &mut String, labels: &Labels) {
    out.push_str(r#"{"metric":"#);
    push_labels(out, labels);
}

/// Appends labels as an object.
pub(super) fn push_labels(out: &mut String, labels: &Labels) {
    out.push('{');
    for (index, label) in labels.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_json_string(out, label.name);
        out.push(':');
        push_json_string(out, label.value);
    }
    out.push('}');
}

fn push_sample(out: &mut String, sample: Sample) {
    out.push('[');
    push_time(out, sample.timestamp_ms);
    out.push_str(",\"");
    push_number(out, sample.value);
    out.push_str("\"]");
}

/// Appends Unix seconds, with a fraction only if it is not zero.
pub(super) fn push_time(out: &mut String, timestamp_ms: i64) {
    if timestamp_ms < 0 {
        out.push('-');
    }
    let size = timestamp_ms.unsigned_abs();
    out.push_str(itoa::Buffer::new().format(size / 1000));
    match size % 1000 {
        0 => {}
        fraction => {
            let _ = write!(out, ".{fraction:03}");
        }
    }
}
