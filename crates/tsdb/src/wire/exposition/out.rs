use std::collections::BTreeMap;
use std::fmt::Write;

use super::escaping::{Escaping, is_plain_label};
use super::family::family_of;
use crate::{Db, Labels, METRIC_NAME, Matcher, Metadata, MetricKind, Sample};

/// The content type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Collects samples and writes them in the text format: grouped by metric in the order of names,
/// each group after its help and type.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    metadata: BTreeMap<String, Metadata>,
    samples: Vec<(Labels, f64, Option<i64>)>,
}

impl Exposition {
    /// An exposition without samples.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the metadata of a metric.
    pub fn describe(&mut self, metric: impl Into<String>, metadata: Metadata) -> &mut Self {
        self.metadata.insert(metric.into(), metadata);
        self
    }

    /// Adds a value without a timestamp: the reader uses the time of the scrape.
    pub fn value(&mut self, labels: Labels, value: f64) -> &mut Self {
        self.samples.push((labels, value, None));
        self
    }

    /// Adds a sample with its timestamp.
    pub fn sample(&mut self, labels: Labels, sample: Sample) -> &mut Self {
        self.samples
            .push((labels, sample.value, Some(sample.timestamp_ms)));
        self
    }

    /// Returns the text, with names as the reader accepts them.
    pub fn write(mut self, escaping: Escaping) -> String {
        let metadata = &self.metadata;
        let family = |labels: &Labels| {
            let find = |name: &str| metadata.get(name);
            family_of(labels.metric(), find).to_owned()
        };
        // The format requires the samples of a family to be consecutive, and readers expect the
        // buckets of a histogram in the order of their bounds.
        self.samples.sort_by_cached_key(|(labels, _, timestamp)| {
            let others = labels.filtered(|label| !BOUNDS.contains(&label.name));
            (family(labels), others, bound(labels), *timestamp)
        });
        let mut out = String::new();
        let mut last = None;
        for (labels, value, timestamp_ms) in &self.samples {
            let family = Some(family(labels));
            if family != last {
                let name = family.as_deref().unwrap_or_default();
                push_metadata(&mut out, name, metadata, escaping);
                last = family;
            }
            push_sample(&mut out, labels, (*value, *timestamp_ms), escaping);
        }
        out
    }
}

/// The labels with a bound of a histogram's bucket or a quantile of a summary.
const BOUNDS: [&str; 2] = ["le", "quantile"];

/// The bound of a bucket or a quantile as a number that sorts like it; then the text, for bounds that
/// are no numbers.
fn bound(labels: &Labels) -> (u64, String) {
    let text = BOUNDS.iter().find_map(|name| labels.get(name));
    let text = text.unwrap_or_default();
    let bits = text.parse().map_or(0, f64::to_bits);
    // The bits of positive numbers sort like the numbers, those of negative ones the other way round.
    let sortable = match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    };
    (sortable, text.to_owned())
}

/// The last sample of each series that fulfils all matchers of one of the `selectors`.
/// Leaves out a series if its last sample is a stale marker, or is not within `lookback_ms`
/// before `time_ms`.
///
/// # Errors
/// The error of `visit`, which is called for each series.
pub fn federate<E>(
    db: &Db,
    selectors: &[Vec<Matcher>],
    time_ms: i64,
    lookback_ms: i64,
    visit: impl Fn() -> Result<(), E>,
) -> Result<Exposition, E> {
    let mut exposition = Exposition {
        metadata: db.all_metadata(),
        samples: Vec::new(),
    };
    // Several selectors may select the same series.
    let mut lasts = BTreeMap::new();
    // The look-back excludes its start, as in queries.
    let from_ms = time_ms.saturating_sub(lookback_ms).saturating_add(1);
    let mut samples = Vec::new();
    for matchers in selectors {
        for series in db.select(matchers, from_ms, time_ms).iter() {
            visit()?;
            samples.clear();
            series.collect_into(&mut samples);
            if let Some(last) = samples.last().filter(|sample| !sample.is_stale()) {
                lasts.insert(series.labels().clone(), *last);
            }
        }
    }
    for (labels, last) in lasts {
        exposition.sample(labels, last);
    }
    Ok(exposition)
}

fn push_metadata(
    out: &mut String,
    metric: &str,
    all: &BTreeMap<String, Metadata>,
    escaping: Escaping,
) {
    let Some(metadata) = all.get(metric) else {
        return;
    };
    let mut name = String::new();
    push_name(&mut name, &escaping.escaped(metric, is_plain), is_plain);
    let metric = name;
    // Writing to a String doesn't fail.
    if !metadata.help.is_empty() {
        let _ = write!(out, "# HELP {metric} ");
        push_escaped(out, &metadata.help, &[]);
        out.push('\n');
    }
    let kind = match metadata.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
        MetricKind::Summary => "summary",
        MetricKind::Unknown => "untyped",
    };
    let _ = writeln!(out, "# TYPE {metric} {kind}");
}

/// Appends a name, in quotes unless it is plain.
fn push_name(out: &mut String, name: &str, is_plain: fn(&str) -> bool) {
    if is_plain(name) {
        out.push_str(name);
    } else {
        push_quoted(out, name);
    }
}

fn push_sample(
    out: &mut String,
    labels: &Labels,
    (value, timestamp_ms): (f64, Option<i64>),
    escaping: Escaping,
) {
    let metric = escaping.escaped(labels.metric(), is_plain);
    let mut list = String::new();
    if is_plain(&metric) {
        out.push_str(&metric);
    } else {
        push_quoted(&mut list, &metric);
    }
    for label in labels.iter().filter(|label| label.name != METRIC_NAME) {
        if !list.is_empty() {
            list.push(',');
        }
        let name = escaping.escaped(label.name, is_plain_label);
        push_name(&mut list, &name, is_plain_label);
        list.push('=');
        push_quoted(&mut list, label.value);
    }
    if !list.is_empty() {
        let _ = write!(out, "{{{list}}}");
    }
    out.push(' ');
    match value {
        f64::INFINITY => out.push_str("+Inf"),
        f64::NEG_INFINITY => out.push_str("-Inf"),
        // `Display` writes NaN as the format requires.
        _ => {
            let _ = write!(out, "{value}");
        }
    }
    if let Some(timestamp_ms) = timestamp_ms {
        let _ = write!(out, " {timestamp_ms}");
    }
    out.push('\n');
}

/// Whether a name needs no quotes.
pub(super) fn is_plain(name: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':');
    name.bytes().next().is_some_and(first)
        && name
            .bytes()
            .all(|byte| first(byte) || byte.is_ascii_digit())
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text, &['"']);
    out.push('"');
}

fn push_escaped(out: &mut String, text: &str, also: &[char]) {
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\\' => out.push_str("\\\\"),
            char if also.contains(&char) => out.extend(['\\', char]),
            char => out.push(char),
        }
    }
}
