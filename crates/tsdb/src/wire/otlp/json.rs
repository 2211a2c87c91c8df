//! The forms of numbers and bytes in the protocol's JSON: 64-bit integers, NaN and infinities are
//! strings, and ids are hexadecimal. A missing value may also be `null`.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, Error};

/// A number, or a text with its digits.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl Number {
    fn parse<T: FromStr>(self) -> Option<T> {
        let text = match self {
            Self::Signed(number) => number.to_string(),
            Self::Unsigned(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Text(text) => text,
        };
        text.parse().ok()
    }

    fn required<T: FromStr, E: Error>(self) -> Result<T, E> {
        self.parse()
            .ok_or_else(|| E::custom("a number is expected"))
    }
}

pub(super) fn number<'de, T: FromStr, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    number.map(Number::required).transpose()
}

pub(super) fn unsigned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(number(deserializer)?.unwrap_or_default())
}

pub(super) fn unsigned_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<u64>, D::Error> {
    list(deserializer)
}

pub(super) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    list(deserializer)
}

fn list<'de, T: FromStr, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let numbers = Vec::<Number>::deserialize(deserializer)?;
    numbers.into_iter().map(Number::required).collect()
}

pub(super) fn base64<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<u8>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let decoded = text.map(|text| STANDARD.decode(text)).transpose();
    decoded.map_err(|_| D::Error::custom("base64 is expected"))
}

pub(super) fn hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    hex::decode(text).map_err(|_| D::Error::custom("hexadecimal digits are expected"))
}
