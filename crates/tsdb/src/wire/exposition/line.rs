use std::borrow::Cow;

use crate::MetricKind;

/// A line, by its kind.
pub(super) enum Line<'a> {
    /// An empty line or a comment.
    Nothing,
    Help {
        metric: Cow<'a, str>,
        help: String,
    },
    Type {
        metric: Cow<'a, str>,
        kind: MetricKind,
    },
    Sample(SampleLine<'a>),
}

/// A sample and the labels of its series.
pub(super) struct SampleLine<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    pub(super) value: f64,
    pub(super) timestamp_ms: Option<i64>,
}

impl<'a> Line<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, &'static str> {
        let text = text.trim_matches([' ', '\t', '\r']);
        match text.strip_prefix('#') {
            Some(comment) => comment_line(comment),
            None if text.is_empty() => Ok(Self::Nothing),
            None => Ok(Self::Sample(sample_line(text)?)),
        }
    }
}

fn comment_line(text: &str) -> Result<Line<'_>, &'static str> {
    let (keyword, rest) = word(text);
    if !matches!(keyword, "HELP" | "TYPE") {
        return Ok(Line::Nothing);
    }
    let (metric, rest) = match rest.starts_with('"') {
        true => quoted(rest)?,
        false => {
            let (metric, rest) = word(rest);
            (Cow::Borrowed(metric), rest)
        }
    };
    let rest = rest.trim_start();
    match keyword {
        "HELP" if !metric.is_empty() => Ok(Line::Help {
            metric,
            help: unescaped(rest).into(),
        }),
        "TYPE" if !metric.is_empty() => Ok(Line::Type {
            metric,
            kind: kind(rest)?,
        }),
        _ => Ok(Line::Nothing),
    }
}

fn kind(text: &str) -> Result<MetricKind, &'static str> {
    Ok(match text {
        "counter" => MetricKind::Counter,
        "gauge" => MetricKind::Gauge,
        "histogram" => MetricKind::Histogram,
        "summary" => MetricKind::Summary,
        "untyped" | "unknown" => MetricKind::Unknown,
        _ => return Err("the type must be counter, gauge, histogram, summary or untyped"),
    })
}

fn sample_line(text: &str) -> Result<SampleLine<'_>, &'static str> {
    let end = text.find(['{', ' ', '\t']).ok_or("the line has no value")?;
    let (name, mut rest) = text.split_at(end);
    let mut name = Cow::Borrowed(name);
    let mut labels = Vec::new();
    rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = label_list(inside, &mut name, &mut labels)?;
    }
    if name.is_empty() {
        return Err("the line has no metric name");
    }
    let (value, rest) = word(rest);
    let (timestamp, rest) = word(rest);
    if !rest.is_empty() {
        return Err("unexpected text after the timestamp");
    }
    let timestamp_ms = match timestamp {
        "" => None,
        _ => Some(
            timestamp
                .parse()
                .map_err(|_| "the timestamp is not a 64-bit integer")?,
        ),
    };
    Ok(SampleLine {
        name,
        labels,
        value: number(value)?,
        timestamp_ms,
    })
}

/// Reads the labels up to the closing brace and returns the rest. A quoted string without a value
/// is the metric's name.
fn label_list<'a>(
    mut rest: &'a str,
    metric: &mut Cow<'a, str>,
    labels: &mut Vec<(Cow<'a, str>, Cow<'a, str>)>,
) -> Result<&'a str, &'static str> {
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Ok(after);
        }
        let name;
        (name, rest) = match rest.starts_with('"') {
            true => quoted(rest)?,
            false => label_name(rest)?,
        };
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('=') {
            let value;
            (value, rest) = quoted(after.trim_start())?;
            labels.push((name, value));
        } else if metric.is_empty() {
            *metric = name;
        } else {
            return Err("a label has no value");
        }
        rest = rest.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after,
            None if rest.starts_with('}') => rest,
            None => return Err("a comma or a closing brace is missing after a label"),
        };
    }
}

/// Splits off a label's name.
fn label_name(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    let end = text
        .find(['=', ' ', '\t', ',', '}', '"'])
        .unwrap_or(text.len());
    if end == 0 || !text[end..].trim_start().starts_with('=') {
        return Err("a label must be name=\"value\"");
    }
    Ok((Cow::Borrowed(&text[..end]), &text[end..]))
}

/// Splits off a quoted string and unescapes it.
fn quoted(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    let inside = text
        .strip_prefix('"')
        .ok_or("a label's value must be quoted")?;
    let bytes = inside.as_bytes();
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        match byte {
            b'\\' => index += 1,
            b'"' => return Ok((unescaped(&inside[..index]), &inside[index + 1..])),
            _ => {}
        }
        index += 1;
    }
    Err("a quoted string is not closed")
}

fn number(text: &str) -> Result<f64, &'static str> {
    if text.is_empty() {
        return Err("the line has no value");
    }
    // Rust also parses `+Inf`, `-Inf` and `NaN` as the format spells them.
    text.parse().map_err(|_| "the value is not a number")
}

/// Splits off the first word.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches([' ', '\t']);
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (word, rest.trim_start_matches([' ', '\t']))
}

/// Replaces `\\`, `\"` and `\n` by a backslash, a quote and a line break. Other backslashes stay.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some(escaped @ ('\\' | '"')) => out.push(escaped),
            other => {
                out.push('\\');
                out.extend(other);
            }
        }
    }
    Cow::Owned(out)
}
