use super::point::members;
use super::scan::{Malformed, Scanner};
use super::{Answer, Pieces};
use crate::{Db, Matcher, Selection};

/// Answers with the points of a metric; see the [module](super).
///
/// `tags` selects the series that have all of these tags. Points of several series are merged by
/// time; points of one series at one time stay together in order of arrival. The answer is in
/// memory as a whole; use [`Query::pieces`] for a long one.
pub fn query(db: &Db, body: &[u8]) -> Answer {
    match Query::read(body) {
        Ok(query) => query.answer(&query.select(db)),
        Err(error) => Answer::bad_request(&error),
    }
}

/// A parsed query. Its methods are the steps of [`query`], for a caller that inspects the selection
/// before its points are read.
#[derive(Debug)]
pub struct Query {
    metric: String,
    start_ms: i64,
    end_ms: i64,
    matchers: Vec<Matcher>,
}

#[derive(Default)]
struct Request {
    metric: Option<String>,
    start_ms: Option<i64>,
    end_ms: Option<i64>,
    tags: Vec<Matcher>,
    fault: Option<&'static str>,
}

impl Request {
    fn read(body: &[u8]) -> Result<Query, String> {
        let text = std::str::from_utf8(body).map_err(|error| format!("malformed JSON: {error}"))?;
        let mut scanner = Scanner::new(text);
        if scanner.peek() != Some(b'{') {
            return Err("the body must be an object".into());
        }
        Self::fields(&mut scanner)
            .map_err(|error| error.to_string())?
            .checked()
    }

    fn fields(scanner: &mut Scanner<'_>) -> Result<Self, Malformed> {
        let mut request = Self::default();
        scanner.expect(b'{', "an object")?;
        if !scanner.accept(b'}') {
            loop {
                let key = scanner.key()?;
                let fault = request.field(&key.decoded(), scanner)?;
                request.fault = request.fault.or(fault);
                if !scanner.accept(b',') {
                    break;
                }
            }
            scanner.expect(b'}', "a comma or a closing brace")?;
        }
        scanner.end()?;
        Ok(request)
    }

    /// Reads a member and returns its fault, if it has one.
    fn field(
        &mut self,
        name: &str,
        scanner: &mut Scanner<'_>,
    ) -> Result<Option<&'static str>, Malformed> {
        let start = scanner.peek();
        match (name, start) {
            ("metric", Some(b'"')) => self.metric = Some(scanner.string()?.decoded().into()),
            ("start" | "end", Some(b'-' | b'0'..=b'9')) => {
                let Some(time) = scanner.number()?.integer() else {
                    return Ok(Some("start and end must be 64-bit integers"));
                };
                let bound = if name == "start" {
                    &mut self.start_ms
                } else {
                    &mut self.end_ms
                };
                *bound = Some(time);
            }
            ("tags", Some(b'{')) => {
                // The last of two fields with the same name counts.
                self.tags.clear();
                let all = members(scanner, |name, value| {
                    self.tags.push(Matcher::equal(name, value));
                })?;
                return Ok(if all {
                    None
                } else {
                    Some("the values of tags must be strings")
                });
            }
            _ => {
                scanner.skip()?;
                return Ok(match (name, start) {
                    ("metric", _) => Some("metric must be a string"),
                    ("start" | "end", _) => Some("start and end must be numbers"),
                    ("tags", Some(b'n')) => None,
                    ("tags", _) => Some("tags must be an object"),
                    _ => None,
                });
            }
        }
        Ok(None)
    }

    fn checked(mut self) -> Result<Query, String> {
        if let Some(fault) = self.fault {
            return Err(fault.into());
        }
        let missing = |field: &str| format!("{field} is missing");
        let metric = self.metric.filter(|metric| !metric.is_empty());
        let metric = metric.ok_or_else(|| missing("metric"))?;
        let start_ms = self.start_ms.ok_or_else(|| missing("start"))?;
        let end_ms = self.end_ms.ok_or_else(|| missing("end"))?;
        if start_ms > end_ms {
            return Err("start is after end".into());
        }
        self.tags.push(Matcher::metric(&metric));
        Ok(Query {
            metric,
            start_ms,
            end_ms,
            matchers: self.tags,
        })
    }
}

impl Query {
    /// Parses a body.
    ///
    /// # Errors
    /// A text for the sender, if the body is not JSON or not a query.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        Request::read(body)
    }

    /// The series that match the query.
    pub fn select(&self, db: &Db) -> Selection {
        db.select(&self.matchers, self.start_ms, self.end_ms)
    }

    /// The answer with the points of a selection, piece by piece. Use it if the text of all points
    /// is too long to be in memory at once.
    pub fn pieces(&self, selection: &Selection) -> Pieces {
        Pieces::new(&self.metric, self.start_ms..=self.end_ms, selection)
    }

    /// The whole answer with the points of a selection. It takes about 60 bytes a point, plus the
    /// tags.
    pub fn answer(&self, selection: &Selection) -> Answer {
        let mut pieces = self.pieces(selection);
        let mut body = Vec::new();
        while pieces.write_next(&mut body) {}
        Answer::ok(String::from_utf8(body).expect("an answer is written in UTF-8"))
    }
}
