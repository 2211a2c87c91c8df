use std::fmt::Write as _;

use crate::support::wire::{contents, db, errors};
use tsdb::Db;
use tsdb::wire::Ingested;
use tsdb::wire::line_protocol::{MAX_LINE_LABELS, Precision, write};

const NOW: i64 = 1_000;

fn ingest(body: &str) -> (Db, Ingested) {
    let db = db();
    let ingested = write(&db, body.as_bytes(), Precision::Nanoseconds, NOW);
    (db, ingested)
}

#[test]
fn each_field_becomes_metric() {
    let (db, ingested) = ingest(
        "cpu,host=a,dc=x usage=1.5,idle=98i,cores=4u,up=t,down=FALSE 1700000000123456789\n\
         # a comment\n\
         \n\
         mem free=-1e3\r\n",
    );
    assert_eq!((ingested.written, errors(&ingested)), (6, vec![]));
    assert_eq!(
        contents(&db),
        [
            "cpu_cores{dc=\"x\",host=\"a\"} 1700000000123:4",
            "cpu_down{dc=\"x\",host=\"a\"} 1700000000123:0",
            "cpu_idle{dc=\"x\",host=\"a\"} 1700000000123:98",
            "cpu_up{dc=\"x\",host=\"a\"} 1700000000123:1",
            "cpu_usage{dc=\"x\",host=\"a\"} 1700000000123:1.5",
            "mem_free 1000:-1000",
        ],
    );
}

#[test]
fn separators_can_be_escaped() {
    let (db, ingested) = ingest(r#"my\ cpu\,x,a\=b=c\ d,e="q f\,g=1 1000000"#);
    assert_eq!(errors(&ingested), [""; 0]);
    let labels = db.list_series(&[]).remove(0);
    assert_eq!(labels.metric(), "my cpu,x_f,g");
    assert_eq!(labels.get("a=b"), Some("c d"));
    assert_eq!(labels.get("e"), Some("\"q"));
}

/// Telegraf sends strings beside numbers. Each such request once was answered as faulty.
#[test]
fn string_field_is_left_out_and_may_contain_separators() {
    let (db, ingested) =
        ingest("a s=\"x, y=1 \\\" \n z\",v=1 5000000\nb v=2\nc s=\"never closed\nd v=3");
    assert_eq!(errors(&ingested), ["3: a string has no end"]);
    assert_eq!((ingested.written, ingested.not_numbers), (3, 1));
    assert_eq!(contents(&db), ["a_v 5:1", "b_v 1000:2", "d_v 1000:3"]);
}

/// Each of these lines closes the string of the line before and opens another. If every line
/// searched for the end of the last string, it would take some hundred thousand million steps.
#[test]
fn unclosed_string_is_scanned_once() {
    let lines = 500_000;
    let (db, ingested) = ingest(&format!("{}\ngood v=1", "m \"=\"\n".repeat(lines)));
    assert_eq!(errors(&ingested), ["0: text follows the end of a string"]);
    assert_eq!(contents(&db), ["good_v 1000:1"]);
}

/// Each field becomes a series with all tags of its line. So the labels of a short body could fill
/// all memory.
#[test]
fn fields_beyond_line_label_limit_are_refused() {
    let tag = "t".repeat(4_000);
    let tags: String = (0..25).map(|number| format!(",{number}={tag}")).collect();
    let fields: Vec<String> = (0..1_000).map(|number| format!("f{number}=1")).collect();
    let mut body = String::new();
    for line in 0..4 {
        writeln!(body, "m{line}{tags} {}", fields.join(",")).expect("a text takes more");
    }
    let (db, ingested) = ingest(&format!("{body}wrong\ngood v=1"));
    let fitting = MAX_LINE_LABELS / tags.len();
    assert_eq!(ingested.written, 4 * fitting + 1);
    assert_eq!(db.stats().series, 4 * fitting + 1);
    let too_long = "the line has too many fields for the length of its tags";
    let mut expected: Vec<String> = (0..4).map(|line| format!("{line}: {too_long}")).collect();
    expected.push("4: the line has no fields".into());
    assert_eq!((ingested.refused, errors(&ingested)), (5, expected));
}

#[test]
fn precision_scales_timestamps() {
    for (precision, expected) in [
        ("ns", -1),
        ("n", -1),
        ("us", -1),
        ("u", -1),
        ("ms", -7),
        ("s", -7_000),
        ("m", -420_000),
        ("h", -25_200_000),
    ] {
        let db = db();
        let precision = Precision::parse(precision).expect("a precision");
        assert_eq!(write(&db, b"a v=1 -7", precision, NOW).written, 1);
        assert_eq!(contents(&db), [format!("a_v {expected}:1")]);
    }
    assert_eq!(Precision::parse("d"), None);
    let too_great = write(&db(), b"a v=1 9223372036854775807", Precision::Seconds, NOW);
    assert_eq!(errors(&too_great), ["0: the timestamp is out of range"]);
}

#[test]
fn bad_line_does_not_affect_others() {
    for (line, reason) in [
        ("cpu", "the line has no fields"),
        (",a=b v=1", "the line has no measurement"),
        ("cpu,a v=1", "a tag must be name=value"),
        ("cpu,a= v=1", "a tag must be name=value"),
        ("cpu,=b v=1", "a tag must be name=value"),
        ("cpu v", "a field must be name=value"),
        ("cpu =1", "a field must be name=value"),
        ("cpu v=", "the value is not a number"),
        ("cpu v=1x", "the value is not a number"),
        ("cpu v=1.5i", "the value is not a number"),
        ("cpu v=-1u", "the value is not a number"),
        ("cpu v=nan", "the value is not a number"),
        ("cpu v=inf", "the value is not a number"),
        ("cpu v=1e999", "the value is not a number"),
        ("cpu v=9223372036854775808i", "the value is not a number"),
        ("cpu v=\"x\"y", "text follows the end of a string"),
        ("cpu v=\"x\\\"", "a string has no end"),
        ("cpu v=\"", "a string has no end"),
        ("cpu v=1 now", "the timestamp is not a 64-bit integer"),
        ("cpu v=1 1 2", "the timestamp is not a 64-bit integer"),
        ("cpu,a=1,a=2 v=1", "label a occurs twice"),
    ] {
        let (db, ingested) = ingest(&format!("\n{line}\ngood v=1"));
        assert_eq!(errors(&ingested), [format!("1: {reason}")], "{line}");
        assert_eq!(contents(&db), ["good_v 1000:1"], "{line}");
    }
    let ingested = write(&db(), b"a v=1\nb\xff v=1\nc v=1", Precision::default(), NOW);
    assert_eq!(
        (ingested.written, errors(&ingested)),
        (2, vec!["1: the line is not UTF-8".into()])
    );
}
