use crate::support::wire::{contents, db, errors};
use std::convert::Infallible;

use tsdb::wire::exposition::{Escaping, Exposition, federate, unescaped, write};
use tsdb::{Labels, Matcher, Metadata, MetricKind, STALE_MARKER, Sample};

const NOW: i64 = 1_000;

const TEXT: &str = r#"# HELP http_requests_total The total of requests.\nBy \\ code.
# TYPE http_requests_total counter
http_requests_total{code="200",path="C:\\\"x\"\n"} 1027 1395066363000
http_requests_total{code="400"} 3

# TYPE latency histogram
latency_bucket{le="0.1"} 2
latency_bucket{le="+Inf"} 3
latency_count 3
latency_sum 1.5e-1
# TYPE load gauge
load NaN
	spaced { a = "1" , } -Inf  5
"#;

/// The bounds once stood in the order of their text: +Inf, 0.1, 10, 5.
#[test]
fn buckets_stand_in_the_order_of_their_bounds() {
    let mut exposition = Exposition::new();
    let kind = MetricKind::Histogram;
    let help = String::new();
    exposition.describe("size", Metadata { kind, help });
    let labels = |name: &str, labels: &[(&str, &str)]| {
        Labels::new(name, labels.iter().copied()).expect("the labels are valid")
    };
    for host in ["b", "a"] {
        for le in ["+Inf", "10", "5", "-2", "0.1", "1e3", "-10"] {
            let bucket = [("host", host), ("le", le), ("zone", "z")];
            exposition.value(labels("size_bucket", &bucket), 1.0);
        }
        exposition.value(labels("size_count", &[("host", host)]), 1.0);
    }
    let text = exposition.write(Escaping::AllowUtf8);
    let found: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut expected = Vec::new();
    for host in ["a", "b"] {
        for le in ["-10", "-2", "0.1", "5", "10", "1e3", "+Inf"] {
            let bucket = format!(r#"size_bucket{{host="{host}",le="{le}",zone="z"}} 1"#);
            expected.push(bucket);
        }
    }
    expected.extend(["a", "b"].map(|host| format!(r#"size_count{{host="{host}"}} 1"#)));
    assert_eq!(found, expected);
}

#[test]
fn samples_and_metadata_are_read() {
    let db = db();
    let ingested = write(&db, TEXT.as_bytes(), NOW);
    assert_eq!((ingested.written, errors(&ingested)), (8, vec![]));
    let stored = contents(&db);
    assert!(
        stored.contains(&"http_requests_total{code=\"400\"} 1000:3".to_owned()),
        "{stored:?}"
    );
    assert!(
        stored.contains(&"spaced{a=\"1\"} 5:-inf".to_owned()),
        "{stored:?}"
    );
    let labels = db.list_series(&[]).remove(0);
    assert_eq!(labels.get("path"), Some("C:\\\"x\"\n"));
    assert_eq!(
        db.metadata("http_requests_total"),
        Some(Metadata {
            kind: MetricKind::Counter,
            help: "The total of requests.\nBy \\ code.".into(),
        }),
    );
}

#[test]
fn quoted_names_are_read() {
    let db = db();
    let ingested = write(&db, br#"{"my.metric","a.b"="c",d="e"} 1"#, NOW);
    assert_eq!(errors(&ingested), [""; 0]);
    let labels = db.list_series(&[]).remove(0);
    assert_eq!(
        (labels.metric(), labels.get("a.b"), labels.get("d")),
        ("my.metric", Some("c"), Some("e"))
    );
}

#[test]
fn bad_line_does_not_affect_others() {
    for (line, reason) in [
        ("up", "the line has no value"),
        ("up ", "the line has no value"),
        ("up{} ", "the line has no value"),
        ("up one", "the value is not a number"),
        ("up 1 soon", "the timestamp is not a 64-bit integer"),
        ("up 1 2 3", "unexpected text after the timestamp"),
        ("{a=\"b\"} 1", "the line has no metric name"),
        ("up{a} 1", "a label must be name=\"value\""),
        ("up{a=b} 1", "a label's value must be quoted"),
        ("up{a=\"b} 1", "a quoted string is not closed"),
        (
            "up{a=\"b\" c=\"d\"} 1",
            "a comma or a closing brace is missing after a label",
        ),
        ("up{\"x\"} 1", "a label has no value"),
        (
            "up{a=\"b\"",
            "a comma or a closing brace is missing after a label",
        ),
        ("up{a=\"1\",a=\"2\"} 1", "label a occurs twice"),
        (
            "# TYPE up speed",
            "the type must be counter, gauge, histogram, summary or untyped",
        ),
    ] {
        let db = db();
        let ingested = write(&db, format!("{line}\ngood 1").as_bytes(), NOW);
        assert_eq!(errors(&ingested), [format!("0: {reason}")], "{line}");
        assert_eq!(contents(&db), ["good 1000:1"], "{line}");
    }
    for line in [
        "#",
        "# HELP",
        "# TYPE ",
        "# EOF",
        "#HELP x y",
        "# any comment",
    ] {
        assert_eq!(
            errors(&write(&db(), line.as_bytes(), NOW)),
            [""; 0],
            "{line}"
        );
    }
}

#[test]
fn written_text_reads_back_equal() {
    let first = db();
    let _ = write(&first, TEXT.as_bytes(), NOW);
    let mut out = Exposition::new();
    for (metric, metadata) in first.all_metadata() {
        out.describe(metric, metadata);
    }
    for series in first.select(&[], i64::MIN, i64::MAX).iter() {
        let mut samples = Vec::new();
        series.collect_into(&mut samples);
        for sample in samples {
            out.sample(series.labels().clone(), sample);
        }
    }
    let text = out.write(Escaping::AllowUtf8);
    let second = db();
    assert_eq!(errors(&write(&second, text.as_bytes(), 0)), [""; 0]);
    assert_eq!(contents(&second), contents(&first));
    assert_eq!(second.all_metadata(), first.all_metadata());
}

#[test]
fn samples_are_grouped_after_their_metadata() {
    let labels = |name: &str, pairs: &[(&str, &str)]| {
        Labels::new(name, pairs.iter().copied()).expect("labels")
    };
    let mut out = Exposition::new();
    let kind = |kind| Metadata {
        kind,
        help: String::new(),
    };
    out.describe("h", kind(MetricKind::Histogram))
        .describe("g", kind(MetricKind::Gauge));
    out.value(labels("h_sum", &[]), 1.5)
        .value(labels("z.dotted", &[("a b", "c\"d")]), f64::INFINITY)
        .value(labels("g", &[]), 1.0)
        .value(labels("h_bucket", &[("le", "+Inf")]), 2.0)
        .sample(labels("g", &[("x", "1")]), Sample::new(7, f64::NAN));
    assert_eq!(
        out.write(Escaping::AllowUtf8),
        "# TYPE g gauge\ng 1\ng{x=\"1\"} NaN 7\n\
         # TYPE h histogram\nh_bucket{le=\"+Inf\"} 2\nh_sum 1.5\n\
         {\"z.dotted\",\"a b\"=\"c\\\"d\"} +Inf\n",
    );
}

#[test]
fn federation_shows_last_sample_of_live_series() {
    let db = db();
    let none: [(&str, &str); 0] = [];
    for (name, samples) in [
        ("fresh", &[(100, 1.0), (200, 2.0)][..]),
        ("old", &[(100, 3.0)]),
        ("ended", &[(200, 4.0), (250, STALE_MARKER)]),
        ("future", &[(301, 5.0)]),
    ] {
        let labels = Labels::new(name, none).expect("labels");
        for (timestamp, value) in samples {
            db.append(&labels, Sample::new(*timestamp, *value))
                .expect("accepted");
        }
    }
    let text = |selectors: &[Vec<Matcher>]| {
        let Ok(lasts) = federate(&db, selectors, 300, 200, || Ok::<_, Infallible>(()));
        lasts.write(Escaping::AllowUtf8)
    };
    assert_eq!(text(&[Vec::new()]), "fresh 2 200\n");
    let fresh = || vec![Matcher::metric("fresh")];
    assert_eq!(text(&[fresh(), fresh()]), "fresh 2 200\n");
    assert_eq!(text(&[]), "");
    assert_eq!(
        federate(&db, &[Vec::new()], 300, 200, || Err("stop")).err(),
        Some("stop")
    );
}

/// A text with one quoted name was refused as a whole by readers before Prometheus 3.
#[test]
fn names_are_escaped_as_the_reader_accepts_them() {
    let labels = Labels::new("cost.usage", [("user.id", "a.b"), ("é:x_y", "2")]).expect("labels");
    for (accept, expected) in [
        ("", "cost_usage{user_id=\"a.b\",__x_y=\"2\"} 1\n"),
        (
            "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.1",
            "{\"cost.usage\",\"user.id\"=\"a.b\",\"é:x_y\"=\"2\"} 1\n",
        ),
        (
            "text/plain; escaping=dots",
            "cost_dot_usage{user_dot_id=\"a.b\",____x__y=\"2\"} 1\n",
        ),
        (
            "text/plain;version=0.0.4, text/plain;escaping=values",
            "U__cost_2e_usage{U__user_2e_id=\"a.b\",U___e9__3a_x__y=\"2\"} 1\n",
        ),
        (
            "text/plain;escaping=none",
            "cost_usage{user_id=\"a.b\",__x_y=\"2\"} 1\n",
        ),
    ] {
        let mut out = Exposition::new();
        out.value(labels.clone(), 1.0);
        assert_eq!(out.write(Escaping::accepted(accept)), expected, "{accept}");
    }
    for (escaped, name) in [
        ("U__user_2e_id", "user.id"),
        ("U__a__b", "a_b"),
        ("U___e9_", "é"),
        ("U__", ""),
        ("U__user_2e", "U__user_2e"),
        ("U__a_xy_", "U__a_xy_"),
        ("U__a_d800_", "U__a_d800_"),
        ("user_2e_id", "user_2e_id"),
    ] {
        assert_eq!(unescaped(escaped), name);
    }
}

/// The metadata of a metric with a dot was left out.
#[test]
fn metadata_has_the_escaped_name() {
    let mut out = Exposition::new();
    let help = String::new();
    let kind = MetricKind::Gauge;
    out.describe("cost.usage", Metadata { kind, help });
    out.value(
        Labels::new("cost.usage", [("a", "b")]).expect("labels"),
        1.0,
    );
    let quoted = out.clone().write(Escaping::AllowUtf8);
    assert_eq!(
        quoted,
        "# TYPE \"cost.usage\" gauge\n{\"cost.usage\",a=\"b\"} 1\n"
    );
    let again = db();
    assert_eq!(errors(&write(&again, quoted.as_bytes(), NOW)), [""; 0]);
    assert_eq!(
        out.write(Escaping::Underscores),
        "# TYPE cost_usage gauge\ncost_usage{a=\"b\"} 1\n"
    );
}
