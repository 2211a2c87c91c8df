use crate::support::promql::{load, try_at};
use proptest::prelude::*;
use tsdb::Db;
use tsdb::promql::{Query, QueryOptions, TimeRange, parse_duration, parse_time, to_json};

fn json(query: &str) -> String {
    let db = load(
        60,
        &[
            "up{job=\"a\\\\\\\"b\"} 1",
            "v{n=\"1\"} 1e21",
            "v{n=\"2\"} 1e-7",
            "v{n=\"3\"} Inf",
        ],
    );
    json_of(&db, query)
}

fn json_of(db: &Db, query: &str) -> String {
    to_json(&try_at(db, 1, query))
}

fn success(kind: &str, result: &str) -> String {
    format!(r#"{{"status":"success","data":{{"resultType":"{kind}","result":{result}}}}}"#)
}

#[test]
fn each_result_type_has_its_form() {
    assert_eq!(json("1.5"), success("scalar", r#"[1,"1.5"]"#));
    assert_eq!(json("\"a\\nb\""), success("string", r#"[1,"a\nb"]"#));
    let series = r#"{"metric":{"__name__":"up","job":"a\\\"b"},"#;
    assert_eq!(
        json("up"),
        success("vector", &format!(r#"[{series}"value":[1,"1"]}}]"#))
    );
    assert_eq!(
        json("up[5m]"),
        success("matrix", &format!(r#"[{series}"values":[[0,"1"]]}}]"#))
    );
    assert_eq!(json("nothing"), success("vector", "[]"));
}

#[test]
fn numbers_print_like_prometheus() {
    for (query, text) in [
        ("0.1 + 0.2", "0.30000000000000004"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("0.000001", "0.000001"),
        ("1.5e-7", "1.5e-07"),
        ("-1e300", "-1e+300"),
        ("0 / 0", "NaN"),
        ("1 / 0", "+Inf"),
        ("-1 / 0", "-Inf"),
        ("-0", "-0"),
    ] {
        assert_eq!(
            json(query),
            success("scalar", &format!(r#"[1,"{text}"]"#)),
            "{query}"
        );
    }
}

/// The text of a number in an answer.
fn printed(value: f64) -> String {
    let db = load(60, &[]);
    let answer = json_of(&db, &format!("{value:e}"));
    let text = answer.rsplit('"').nth(1).expect("a number");
    text.to_owned()
}

proptest! {
    #[test]
    fn numbers_print_shortest_digits(
        value in prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            1e-9..1e-3_f64,
            -1e24..1e24_f64,
            (any::<i32>(), 0..12_i32).prop_map(|(units, decimals)| f64::from(units) / 10_f64.powi(decimals)),
        ],
    ) {
        prop_assume!(value.is_finite());
        let text = printed(value);
        let read: f64 = text.parse().expect("a number");
        prop_assert_eq!(read.to_bits(), value.to_bits(), "{}", text);
        // Only numbers of extreme size have an exponent, which has a sign and at least two digits.
        let plain = value == 0.0 || (1e-6..1e21).contains(&value.abs());
        prop_assert_eq!(text.contains('e'), !plain, "{}", text);
        if plain {
            prop_assert_eq!(text.len(), value.to_string().len(), "{}", text);
        }
    }
}

#[test]
fn times_have_fraction_only_if_needed() {
    let db = load(60, &[]);
    let query = Query::parse("time()").expect("a query");
    let range = TimeRange {
        start_ms: -1_500,
        end_ms: 1_050,
        step_ms: 1_275,
    };
    let answer = query.range(&db, range, &QueryOptions::default());
    let values = r#"[{"metric":{},"values":[[-1.500,"-1.5"],[-0.225,"-0.225"],[1.050,"1.05"]]}]"#;
    assert_eq!(to_json(&answer), success("matrix", values));
}

#[test]
fn error_answer_has_error_type() {
    assert_eq!(
        json("up{a=\"b\" or a=\"c\"}"),
        r#"{"status":"error","errorType":"bad_data","error":"`or` between matchers is not supported"}"#,
    );
}

#[test]
fn time_and_duration_parameters_parse() {
    for (text, time) in [
        ("1435781451.781", Some(1_435_781_451_781)),
        ("0", Some(0)),
        ("-1.5", Some(-1_500)),
        ("2015-07-01T20:10:51.781Z", Some(1_435_781_451_781)),
        ("2015-07-01T22:10:51+02:00", Some(1_435_781_451_000)),
        ("NaN", None),
        ("1e300", None),
        ("yesterday", None),
        ("", None),
    ] {
        assert_eq!(parse_time(text), time, "{text}");
    }
    for (text, duration) in [
        ("15", Some(15_000)),
        ("0.5", Some(500)),
        ("5m", Some(300_000)),
        ("1h30m", Some(5_400_000)),
        ("Inf", None),
        ("soon", None),
    ] {
        assert_eq!(parse_duration(text), duration, "{text}");
    }
}
