//! A point of a body.

use super::scan::{Malformed, Scanner};
use crate::wire::Fault;
use crate::{Error, Labels, LabelsBuilder, Sample};

/// Reads points one after another. Points of one series tend to follow each other: where the texts
/// of metric and tags are those of the last point, they are not read again.
#[derive(Default)]
pub(super) struct PointReader<'a> {
    builder: LabelsBuilder,
    last: Option<(SeriesText<'a>, Labels)>,
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
    /// The first field that is wrong.
    fault: Option<&'static str>,
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
    ) -> Result<Result<(&Labels, Sample), Fault>, Malformed> {
        if !scanner.accept(b'{') {
            scanner.skip()?;
            return Ok(Err(Fault::form("a point must be an object")));
        }
        let fields = self.fields(scanner)?;
        Ok(self.point(&fields))
    }

    fn point(&mut self, fields: &Fields<'a>) -> Result<(&Labels, Sample), Fault> {
        if let Some(fault) = fields.fault {
            return Err(Fault::form(fault));
        }
        let missing = |field: &str| Fault::form(format!("{field} is missing"));
        if fields.series.metric.is_empty() {
            return Err(missing("metric"));
        }
        let timestamp_ms = fields.timestamp_ms.ok_or_else(|| missing("timestamp"))?;
        let value = fields.value.ok_or_else(|| missing("value"))?;
        Ok((
            self.labels(fields.series)?,
            Sample {
                timestamp_ms,
                value,
            },
        ))
    }

    fn labels(&mut self, series: SeriesText<'a>) -> Result<&Labels, Fault> {
        let last = match self.last.take() {
            Some(last) if last.0 == series => last,
            _ => (series, self.build(series)?),
        };
        Ok(&self.last.insert(last).1)
    }

    /// Reads texts that were checked when they were passed.
    fn build(&mut self, series: SeriesText<'a>) -> Result<Labels, Fault> {
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
        self.builder.build().map_err(|error: Error| error.into())
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
        if let Some((last, _)) = &self.last
            && scanner.accept_text(last.metric)
        {
            fields.series.metric = last.metric;
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
        if let Some((last, _)) = &self.last
            && !last.tags.is_empty()
            && scanner.accept_text(last.tags)
        {
            fields.series.tags = last.tags;
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
    fields.timestamp_ms = scanner.number()?.integer();
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
    fields.value = scanner.number()?.float();
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
