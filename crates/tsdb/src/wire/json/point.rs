//! A point of a body.

use std::ops::Range;

use super::decimal::Number;
use super::scan::{Malformed, Scanner};
use crate::labels::LabelsRef;
use crate::wire::Fault;
use crate::{LabelsBuilder, Sample};

/// Reads points one after another. Points of one series tend to follow each other: where the texts
/// of metric and tags are those of the last point, they are not read again; where all but the two
/// numbers is, nothing else is.
#[derive(Default)]
pub(super) struct PointReader<'a> {
    /// Has the labels of the last point.
    builder: LabelsBuilder,
    /// The series of the last point.
    series: SeriesText<'a>,
    form: Form<'a>,
}

/// How the last point is written, but for its two numbers; empty before the first.
#[derive(Default)]
struct Form<'a> {
    /// From the opening brace.
    before: &'a str,
    between: &'a str,
    /// To the closing brace.
    after: &'a str,
    value_first: bool,
}

impl<'a> Form<'a> {
    /// Passes a point of this form. No number goes on with what follows one in a point, so that a
    /// point of the same form has the same fields.
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

/// A series as it is written.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct SeriesText<'a> {
    /// With its quotes; empty where there is none.
    metric: &'a str,
    /// With its braces; empty where there are none.
    tags: &'a str,
}

/// The fields of a point as far as they were read.
#[derive(Default)]
struct Fields<'a> {
    series: SeriesText<'a>,
    timestamp_ms: Option<i64>,
    value: Option<f64>,
    /// Where the two numbers stand.
    timestamp_at: Range<usize>,
    value_at: Range<usize>,
    /// The first field that is wrong.
    fault: Option<&'static str>,
}

impl<'a> Fields<'a> {
    /// The form of a point that begins at `start` and was passed to its end.
    fn form(&self, start: usize, scanner: &Scanner<'a>) -> Form<'a> {
        let value_first = self.value_at.start < self.timestamp_at.start;
        let (first, second) = if value_first {
            (&self.value_at, &self.timestamp_at)
        } else {
            (&self.timestamp_at, &self.value_at)
        };
        Form {
            before: scanner.part(start..first.start),
            between: scanner.part(first.end..second.start),
            after: scanner.part(second.end..scanner.at()),
            value_first,
        }
    }
}

/// The fields by their names.
#[derive(Clone, Copy)]
enum Field {
    Metric,
    Timestamp,
    Value,
    Tags,
    Other,
}

impl Field {
    /// Passes the name of a field and its colon. Compares to the usual texts of the names before it
    /// reads one.
    fn next(scanner: &mut Scanner<'_>) -> Result<Self, Malformed> {
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

/// Where a field is not what it must be.
type FieldFault = Option<&'static str>;

impl<'a> PointReader<'a> {
    /// Reads a value that should be a point.
    ///
    /// # Errors
    /// The text is no JSON. A value that is JSON and no point is the inner error.
    pub(super) fn read(
        &mut self,
        scanner: &mut Scanner<'a>,
    ) -> Result<Result<(LabelsRef<'_>, Sample), Fault>, Malformed> {
        scanner.peek();
        let mut ahead = *scanner;
        if let Some(sample) = self.form.read(&mut ahead) {
            *scanner = ahead;
            return Ok(Ok((self.builder.built(), sample)));
        }
        let start = scanner.at();
        if !scanner.accept(b'{') {
            scanner.skip()?;
            return Ok(Err(Fault::form("a point must be an object")));
        }
        let fields = self.fields(scanner)?;
        let point = self.point(&fields);
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
            (self.series, self.form) = Default::default();
            self.build(fields.series)?;
            self.series = fields.series;
        }
        Ok(Sample {
            timestamp_ms,
            value,
        })
    }

    /// Reads texts that were checked when they were passed.
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
        if !self.series.metric.is_empty() && scanner.accept_text(self.series.metric) {
            fields.series.metric = self.series.metric;
            return Ok(None);
        }
        if !is_string {
            scanner.skip()?;
            return Ok(Some("metric must be a string"));
        }
        let start = scanner.at();
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
        fields.series.tags = "";
        if !is_object {
            let is_null = scanner.peek() == Some(b'n');
            scanner.skip()?;
            return Ok(if is_null {
                None
            } else {
                Some("tags must be an object")
            });
        }
        let start = scanner.at();
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
    let start = scanner.at();
    fields.timestamp_ms = scanner.number()?.integer();
    fields.timestamp_at = start..scanner.at();
    let fits = fields.timestamp_ms.is_some();
    Ok(if fits {
        None
    } else {
        Some("timestamp must be an integer of 64 bits")
    })
}

fn value(scanner: &mut Scanner<'_>, fields: &mut Fields<'_>) -> Result<FieldFault, Malformed> {
    if !scanner.is_number() {
        scanner.skip()?;
        return Ok(Some("value must be a number"));
    }
    let start = scanner.at();
    fields.value = scanner.number()?.float();
    fields.value_at = start..scanner.at();
    let fits = fields.value.is_some();
    Ok(if fits {
        None
    } else {
        Some("value is beyond the greatest number")
    })
}

/// Passes an object, and shows its members whose values are strings; says whether all are.
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
