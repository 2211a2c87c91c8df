//! Reads the points of a body.

use std::ops::Range;

use super::decimal::Number;
use super::scan::{Malformed, Scanner};
use crate::wire::Fault;
use crate::{LabelsBuilder, LabelsRef, Sample};

/// Reads points one after another. Points of one series tend to follow each other, so the reader
/// first compares the text with the last point. It does not parse the same metric or tags again. If
/// a point differs from the last one only in its two numbers, it parses only the numbers.
#[derive(Default)]
pub(super) struct PointReader<'a> {
    /// Has the labels of the last point.
    builder: LabelsBuilder,
    /// The series of the last point.
    series: SeriesText<'a>,
    form: Form<'a>,
}

/// The text of the last point except its two numbers. Empty before the first point.
#[derive(Default)]
struct Form<'a> {
    /// The text from the opening brace to the first number.
    before: &'a str,
    between: &'a str,
    /// The text from the second number to the closing brace.
    after: &'a str,
    value_first: bool,
}

impl<'a> Form<'a> {
    /// Passes a point of this form. The text after a number never begins with a character that
    /// continues the number, so a point of this form has the same fields.
    fn read(&self, scanner: &mut Scanner<'a>) -> Option<Sample> {
        if self.before.is_empty() {
            return None;
        }
        let first = self.number(self.before, scanner)?;
        let second = self.number(self.between, scanner)?;
        let (time, value) = if self.value_first {
            (second, first)
        } else {
            (first, second)
        };
        let sample = Sample::new(time.integer()?, value.float()?);
        scanner.accept_text(self.after).then_some(sample)
    }

    /// Passes a part and the number after it.
    fn number(&self, part: &str, scanner: &mut Scanner<'a>) -> Option<Number<'a>> {
        if !scanner.accept_text(part) {
            return None;
        }
        scanner.number().ok()
    }
}

/// The text of a series.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct SeriesText<'a> {
    /// With its quotes; empty if it is missing.
    metric: &'a str,
    /// With its braces; empty if they are missing.
    tags: &'a str,
}

/// The fields of a point that were read so far.
#[derive(Default)]
struct Fields<'a> {
    series: SeriesText<'a>,
    timestamp_ms: Option<i64>,
    value: Option<f64>,
    /// The byte ranges of the two numbers.
    timestamp_range: Range<usize>,
    value_range: Range<usize>,
    /// The fault of the first wrong field.
    fault: Option<&'static str>,
}

impl<'a> Fields<'a> {
    /// The form of the point between `start` and the position of the scanner.
    fn form(&self, start: usize, scanner: &Scanner<'a>) -> Form<'a> {
        let value_first = self.value_range.start < self.timestamp_range.start;
        let (first, second) = if value_first {
            (&self.value_range, &self.timestamp_range)
        } else {
            (&self.timestamp_range, &self.value_range)
        };
        Form {
            before: scanner.part(start..first.start),
            between: scanner.part(first.end..second.start),
            after: scanner.part(second.end..scanner.position()),
            value_first,
        }
    }
}

/// A field, by its name.
#[derive(Clone, Copy)]
enum Field {
    Metric,
    Timestamp,
    Value,
    Tags,
    Other,
}

impl Field {
    /// Passes the name of a field and its colon. Compares with the usual texts before it parses a
    /// name.
    fn next(scanner: &mut Scanner<'_>) -> Result<Self, Malformed> {
        // Skips white space, which `accept_text` does not.
        scanner.peek();
        for (text, field) in [
            (r#""metric":"#, Self::Metric),
            (r#""timestamp":"#, Self::Timestamp),
            (r#""value":"#, Self::Value),
            (r#""tags":"#, Self::Tags),
        ] {
            if scanner.accept_text(text) {
                return Ok(field);
            }
        }
        Ok(match scanner.key()?.decoded().as_ref() {
            "metric" => Self::Metric,
            "timestamp" => Self::Timestamp,
            "value" => Self::Value,
            "tags" => Self::Tags,
            _ => Self::Other,
        })
    }
}

/// The fault of a field with a wrong type or value, if it has one.
type FieldFault = Option<&'static str>;

impl<'a> PointReader<'a> {
    /// Reads a value, which should be a point.
    ///
    /// # Errors
    /// The outer error: the text is not JSON. The inner error: the value is JSON, but not a point.
    pub(super) fn read(
        &mut self,
        scanner: &mut Scanner<'a>,
    ) -> Result<Result<(LabelsRef<'_>, Sample), Fault>, Malformed> {
        scanner.peek();
        // Tries this on a copy, because a point of another form is read again from its start.
        let mut ahead = *scanner;
        if let Some(sample) = self.form.read(&mut ahead) {
            *scanner = ahead;
            return Ok(Ok((self.builder.built(), sample)));
        }
        let start = scanner.position();
        if !scanner.accept(b'{') {
            scanner.skip()?;
            return Ok(Err(Fault::form("a point must be an object")));
        }
        let fields = self.fields(scanner)?;
        let point = self.point(&fields);
        // Later points are compared only with the form of a valid point.
        Ok(point.map(|sample| {
            self.form = fields.form(start, scanner);
            (self.builder.built(), sample)
        }))
    }

    fn point(&mut self, fields: &Fields<'a>) -> Result<Sample, Fault> {
        if let Some(fault) = fields.fault {
            return Err(Fault::form(fault));
        }
        let missing = |field: &str| Fault::form(format!("{field} is missing"));
        if fields.series.metric.is_empty() {
            return Err(missing("metric"));
        }
        let timestamp_ms = fields.timestamp_ms.ok_or_else(|| missing("timestamp"))?;
        let value = fields.value.ok_or_else(|| missing("value"))?;
        if fields.series != self.series {
            // Resets both first, because the builder holds no series if the build fails.
            (self.series, self.form) = Default::default();
            self.build(fields.series)?;
            self.series = fields.series;
        }
        Ok(Sample {
            timestamp_ms,
            value,
        })
    }

    /// Builds the labels from texts that the scanner has already checked.
    fn build(&mut self, series: SeriesText<'a>) -> Result<(), Fault> {
        let unread = |_: Malformed| Fault::form("the series can't be read");
        let metric = Scanner::new(series.metric)
            .string()
            .map_err(unread)?
            .decoded();
        if metric.is_empty() {
            return Err(Fault::form("metric is empty"));
        }
        self.builder.clear();
        self.builder.metric(&metric);
        let builder = &mut self.builder;
        if !series.tags.is_empty() {
            let mut tags = Scanner::new(series.tags);
            members(&mut tags, |name, value| {
                builder.label(name, value);
            })
            .map_err(unread)?;
        }
        self.builder.build_ref()?;
        Ok(())
    }

    fn fields(&self, scanner: &mut Scanner<'a>) -> Result<Fields<'a>, Malformed> {
        let mut fields = Fields::default();
        if scanner.accept(b'}') {
            return Ok(fields);
        }
        loop {
            let fault = match Field::next(scanner)? {
                Field::Metric => self.metric(scanner, &mut fields)?,
                Field::Timestamp => timestamp(scanner, &mut fields)?,
                Field::Value => value(scanner, &mut fields)?,
                Field::Tags => self.tags(scanner, &mut fields)?,
                Field::Other => {
                    scanner.skip()?;
                    None
                }
            };
            fields.fault = fields.fault.or(fault);
            if !scanner.accept(b',') {
                scanner.expect(b'}', "a comma or a closing brace")?;
                return Ok(fields);
            }
        }
    }

    fn metric(
        &self,
        scanner: &mut Scanner<'a>,
        fields: &mut Fields<'a>,
    ) -> Result<FieldFault, Malformed> {
        let is_string = scanner.peek() == Some(b'"');
        // The text includes the closing quote, so it never matches the beginning of a longer name.
        if !self.series.metric.is_empty() && scanner.accept_text(self.series.metric) {
            fields.series.metric = self.series.metric;
            return Ok(None);
        }
        if !is_string {
            scanner.skip()?;
            return Ok(Some("metric must be a string"));
        }
        let start = scanner.position();
        scanner.string()?;
        fields.series.metric = scanner.since(start);
        Ok(None)
    }

    fn tags(
        &self,
        scanner: &mut Scanner<'a>,
        fields: &mut Fields<'a>,
    ) -> Result<FieldFault, Malformed> {
        let is_object = scanner.peek() == Some(b'{');
        if !self.series.tags.is_empty() && scanner.accept_text(self.series.tags) {
            fields.series.tags = self.series.tags;
            return Ok(None);
        }
        // The last of two fields with the same name counts, even if it has no tags.
        fields.series.tags = "";
        if !is_object {
            // `null` counts as no tags.
            let is_null = scanner.peek() == Some(b'n');
            scanner.skip()?;
            return Ok(if is_null {
                None
            } else {
                Some("tags must be an object")
            });
        }
        let start = scanner.position();
        let all_strings = members(scanner, |_, _| {})?;
        fields.series.tags = scanner.since(start);
        Ok(if all_strings {
            None
        } else {
            Some("the values of tags must be strings")
        })
    }
}

fn timestamp(scanner: &mut Scanner<'_>, fields: &mut Fields<'_>) -> Result<FieldFault, Malformed> {
    if !scanner.is_number() {
        scanner.skip()?;
        return Ok(Some("timestamp must be a number"));
    }
    let start = scanner.position();
    fields.timestamp_ms = scanner.number()?.integer();
    fields.timestamp_range = start..scanner.position();
    let fits = fields.timestamp_ms.is_some();
    Ok(if fits {
        None
    } else {
        Some("timestamp must be a 64-bit integer")
    })
}

fn value(scanner: &mut Scanner<'_>, fields: &mut Fields<'_>) -> Result<FieldFault, Malformed> {
    if !scanner.is_number() {
        scanner.skip()?;
        return Ok(Some("value must be a number"));
    }
    let start = scanner.position();
    fields.value = scanner.number()?.float();
    fields.value_range = start..scanner.position();
    let fits = fields.value.is_some();
    Ok(if fits {
        None
    } else {
        Some("value is too large for a 64-bit float")
    })
}

/// Passes an object and calls `show` with each member whose value is a string. Returns whether all
/// values are strings.
pub(super) fn members(
    scanner: &mut Scanner<'_>,
    mut show: impl FnMut(&str, &str),
) -> Result<bool, Malformed> {
    let mut all_strings = true;
    scanner.expect(b'{', "an object")?;
    if scanner.accept(b'}') {
        return Ok(true);
    }
    loop {
        let name = scanner.key()?;
        if scanner.peek() == Some(b'"') {
            let value = scanner.string()?;
            show(&name.decoded(), &value.decoded());
        } else {
            scanner.skip()?;
            all_strings = false;
        }
        if !scanner.accept(b',') {
            scanner.expect(b'}', "a comma or a closing brace")?;
            return Ok(all_strings);
        }
    }
}
