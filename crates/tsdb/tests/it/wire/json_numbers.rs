//! A number is stored as the nearest f64. An answer has the shortest text that parses as this f64.

use proptest::prelude::*;
use tsdb::wire::json::{query, write};

use crate::support::wire::db;

/// Writes a value in this form and returns the text of the answer.
fn through(text: &str) -> String {
    let db = db();
    let body = format!(r#"{{"metric":"m","timestamp":1,"value":{text}}}"#);
    let answer = write(&db, body.as_bytes());
    assert_eq!(answer.status, 200, "{text}: {}", answer.body);
    let answer = query(&db, br#"{"metric":"m","start":1,"end":1}"#)
        .body
        .into_owned();
    let value = answer.split(r#""value":"#).nth(1).expect("a value");
    value.split('}').next().expect("an end").to_owned()
}

fn assert_exact(value: f64, text: &str) {
    let out = through(text);
    let read: f64 = out.parse().expect("a number");
    assert_eq!(read.to_bits(), value.to_bits(), "{text} came out as {out}");
}

/// Two texts may be equally short and near; either is accepted.
fn assert_shortest(value: f64) {
    let text = value.to_string();
    assert_exact(value, &text);
    assert_eq!(through(&text).len(), text.len(), "{text}");
}

proptest! {
    #[test]
    fn finite_value_round_trips_exactly(bits: u64) {
        let value = f64::from_bits(bits);
        if value.is_finite() {
            assert_exact(value, &format!("{value:e}").replace('e', "e+").replace("+-", "-"));
        }
    }

    #[test]
    fn decimals_are_shortest(units in -1_000_000_000_000_i64..1_000_000_000_000, decimals in 0..8_i32) {
        let value = units as f64 / 10_f64.powi(decimals);
        let text = format!("{value}");
        prop_assert_eq!(through(&text), text);
    }

    #[test]
    fn values_of_common_size_are_shortest(value in 0.001..1e15_f64, negative: bool) {
        assert_shortest(if negative { -value } else { value });
    }

    #[test]
    fn decimals_beyond_f64_precision_are_shortest(
        units in 1_000_000_000_000_000_i64..1_000_000_000_000_000_000,
        decimals in 3..6_i32,
    ) {
        assert_shortest(units as f64 / 10_f64.powi(decimals));
    }

    #[test]
    fn digits_without_exponent_round_to_nearest(text in "[1-9][0-9]{0,12}\\.[0-9]{1,12}") {
        let value: f64 = text.parse().expect("a number");
        let read: f64 = through(&text).parse().expect("a number");
        prop_assert_eq!(read.to_bits(), value.to_bits());
    }

    #[test]
    fn long_decimals_round_to_nearest(digits in "[0-9]{1,40}", fraction in "[0-9]{1,40}", exponent in -320..320_i32) {
        let digits = digits.trim_start_matches('0');
        let whole = if digits.is_empty() { "0" } else { digits };
        let text = format!("{whole}.{fraction}e{exponent}");
        let value: f64 = text.parse().expect("a number");
        if value.is_finite() {
            let read: f64 = through(&text).parse().expect("a number");
            prop_assert_eq!(read.to_bits(), value.to_bits());
        }
    }
}

#[test]
fn listed_numbers_round_trip() {
    for (text, out) in [
        ("0", "0"),
        ("-0", "-0"),
        ("-0.0", "-0"),
        ("100", "100"),
        ("100.50", "100.5"),
        ("0.05", "0.05"),
        ("-12.34", "-12.34"),
        ("1E2", "100"),
        ("9007199254740993", "9007199254740992"),
        ("123456789012345678", "123456789012345680"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("1e22", "1e22"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e308"),
        ("1e-999", "0"),
    ] {
        let actual: f64 = through(text).parse().expect("a number");
        let expected: f64 = out.parse().expect("a number");
        assert_eq!(actual.to_bits(), expected.to_bits(), "{text}");
    }
    assert_eq!(through("100.50"), "100.5");
    assert_eq!(through("0.05"), "0.05");
    assert_eq!(through("-0.0"), "-0");
}
