//! Runs scripts in the notation of Prometheus' own PromQL tests: `load`, `clear` and `eval` with the
//! expected answer. `PROMQLTEST_DIR` names a folder of scripts that are not ours, such as
//! `promql/promqltest/testdata` of Prometheus' sources.

use std::collections::BTreeMap;

use crate::support::promql::notation::{append, points, series};
use tsdb::promql::{Query, QueryError, QueryOptions, TimeRange, Value, parse_duration};
use tsdb::{Db, DbOptions, Sample};

/// The values of each series at its times.
type Answer = BTreeMap<String, Vec<(i64, f64)>>;

#[derive(Default)]
struct Report {
    passed: usize,
    /// Cases that need a part of the language that is refused, or series that can't be stored.
    skipped: usize,
    failures: Vec<String>,
}

/// An `eval` command. The range of an instant has the step 0.
struct Case<'a> {
    range: TimeRange,
    query: &'a str,
    fails: bool,
    expected: Vec<&'a str>,
}

fn run(script: &str, tolerance: f64) -> Report {
    let mut report = Report::default();
    let mut db = Db::new(DbOptions::default());
    let mut misses_series = false;
    let mut lines = script.lines().map(str::trim);
    while let Some(mut line) = lines.next() {
        let command = word(&mut line);
        let mut block = || -> Vec<&str> {
            let is_inside = |line: &&str| !line.is_empty() && !line.starts_with('#');
            lines.by_ref().take_while(is_inside).collect()
        };
        if command == "clear" {
            (db, misses_series) = (Db::new(DbOptions::default()), false);
        } else if command.starts_with("load") {
            let lines = block();
            let (floats, others): (Vec<_>, Vec<_>) = lines.iter().copied().partition(is_plain);
            misses_series |= !others.is_empty() || command != "load";
            append(&db, milliseconds(line), &floats);
        } else if command.starts_with("eval") {
            let lines = block();
            let is_checked = lines.iter().all(is_plain);
            let case = Case::parse(command, line, lines);
            match is_checked.then(|| case.check(&db, tolerance)).flatten() {
                Some(Ok(())) => report.passed += 1,
                Some(Err(problem)) if !misses_series => {
                    report.failures.push(format!("{}: {problem}", case.query));
                }
                _ => report.skipped += 1,
            }
        } else {
            let is_comment = command.is_empty() || command.starts_with('#');
            assert!(is_comment, "what is {command}?");
        }
    }
    report
}

impl<'a> Case<'a> {
    fn parse(command: &str, mut line: &'a str, block: Vec<&'a str>) -> Self {
        let is_range = word(&mut line) == "range";
        let mut time = || {
            word(&mut line);
            milliseconds(word(&mut line))
        };
        let start_ms = time();
        let range = TimeRange {
            start_ms,
            end_ms: if is_range { time() } else { start_ms },
            step_ms: if is_range { time() } else { 0 },
        };
        let (expectations, expected): (Vec<_>, Vec<_>) = block
            .into_iter()
            .partition(|line| line.starts_with("expect ") && !line.starts_with("expect string"));
        Self {
            range,
            query: line,
            fails: command == "eval_fail"
                || expectations
                    .iter()
                    .any(|line| line.starts_with("expect fail")),
            expected,
        }
    }

    /// `None` if the query is refused, otherwise whether the answer is the expected one.
    fn check(&self, db: &Db, tolerance: f64) -> Option<Result<(), String>> {
        let expected = self.expected();
        match self.answer(db) {
            Err(_) if self.fails => Some(Ok(())),
            Err(error) if error.error_type() == "bad_data" => None,
            Ok(answer) if !self.fails && is_near(&answer, &expected, tolerance) => Some(Ok(())),
            other => Some(Err(format!("{other:?} instead of {expected:?}"))),
        }
    }

    fn answer(&self, db: &Db) -> Result<Answer, QueryError> {
        let (query, options) = (Query::parse(self.query)?, QueryOptions::default());
        let value = match self.range {
            TimeRange {
                start_ms,
                step_ms: 0,
                ..
            } => query.instant(db, start_ms, &options)?,
            range => query.range(db, range, &options)?,
        };
        let point = |sample: &Sample| (sample.timestamp_ms, sample.value);
        let mut answer = Answer::new();
        match value {
            Value::Scalar(sample) => drop(answer.insert("{}".into(), vec![point(&sample)])),
            Value::String { text, .. } => drop(answer.insert(text, Vec::new())),
            Value::Vector(vector) => answer.extend(
                vector
                    .iter()
                    .map(|series| (series.labels.to_string(), vec![point(&series.sample)])),
            ),
            Value::Matrix(matrix) => answer.extend(matrix.iter().map(|series| {
                (
                    series.labels.to_string(),
                    series.samples.iter().map(point).collect(),
                )
            })),
            _ => panic!("a new kind of value"),
        }
        Ok(answer)
    }

    fn expected(&self) -> Answer {
        let expected = self
            .expected
            .iter()
            .map(|line| match line.strip_prefix("expect string ") {
                Some(text) => (text.trim_matches(['"', '`']).to_owned(), Vec::new()),
                None => {
                    let (labels, values) = series(line);
                    let points = points(values, self.range.start_ms, self.range.step_ms);
                    (labels.to_string(), points)
                }
            });
        expected.collect()
    }
}

fn is_near(one: &Answer, other: &Answer, tolerance: f64) -> bool {
    let near = |(one, other): (&(i64, f64), &(i64, f64))| {
        let (time, value, at, wanted) = (one.0, one.1, other.0, other.1);
        let distance = tolerance * value.abs().max(wanted.abs());
        let is_nan = value.is_nan() && wanted.is_nan();
        time == at && (is_nan || value == wanted || (value - wanted).abs() <= distance)
    };
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|((one, points), (other, others))| {
                one == other && points.len() == others.len() && points.iter().zip(others).all(near)
            })
}

/// Whether a line has neither native histograms nor start timestamps, which the engine can't store,
/// and is in the notation that this runner reads.
fn is_plain(line: &&str) -> bool {
    !["{{", "\"{count", "@st ", "expect range vector"]
        .iter()
        .any(|part| line.contains(part))
}

/// Removes the first word of a line.
fn word<'a>(line: &mut &'a str) -> &'a str {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    *line = rest.trim_start();
    word
}

fn milliseconds(text: &str) -> i64 {
    // Prometheus' scripts write 0 with a unit, which is not a duration in a query.
    match text.trim_end_matches(char::is_alphabetic) {
        "0" => 0,
        _ => parse_duration(text).unwrap_or_else(|| panic!("{text} is no duration")),
    }
}

const SCRIPT: &str = "
load 1m
  a{x=\"1\"} 1+2x3 _ 5 stale
  b 7x2 _x2 1

eval instant at 2m a + on() b
  {} 12

eval range from 0 to 6m step 1m a
  a{x=\"1\"} 1 3 5 7 7 5 _

eval instant at 2m rate(a)
  expect fail

clear
eval instant at 2m b
";

#[test]
fn scripts_run() {
    let report = run(SCRIPT, 0.0);
    assert_eq!(report.failures, [""; 0]);
    assert_eq!((report.passed, report.skipped), (4, 0));
    let wrong = SCRIPT
        .replace("{} 12", "{} 13")
        .replace("7 7 5 _", "7 7 5 5");
    assert_eq!(run(&wrong, 0.0).failures.len(), 2);
}

/// `benches/series_peers/promql` records the script.
#[test]
fn recorded_answers_of_prometheus_agree() {
    let report = run(include_str!("../golden/prometheus.test"), 1e-9);
    let failures = report.failures.join("\n");
    assert!(failures.is_empty(), "{} passed\n{failures}", report.passed);
    assert_eq!((report.passed, report.skipped), (500, 0));
}

#[test]
fn scripts_of_prometheus_pass() {
    let folder = std::env::var_os("PROMQLTEST_DIR");
    let Some(folder) = unmet::need("PROMQLTEST_DIR", folder) else {
        return;
    };
    let mut failures = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let script = std::fs::read_to_string(&path).expect("a script");
        match std::panic::catch_unwind(|| run(&script, 1e-6)) {
            Ok(report) => {
                let (passed, skipped) = (report.passed, report.skipped);
                println!("{}: {passed} passed, {skipped} skipped", path.display());
                failures.extend(report.failures);
            }
            Err(_) => println!("{} can't be read", path.display()),
        }
    }
    assert!(
        failures.is_empty(),
        "{} failed\n{}",
        failures.len(),
        failures.join("\n")
    );
}
