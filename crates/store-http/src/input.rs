//! Parses what clients send: JSON and parameters in the query string. An unknown field is an error
//! that names it, because a server that ignored a misspelt condition or limit would not do what its
//! client asked for.

use std::fmt::{self, Display};
use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::middleware::{FromExtractorLayer, from_extractor};
use serde::Deserialize;
use serde::de::value::{Error as ValueError, MapAccessDeserializer, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};

use crate::error::ApiError;

/// Parses JSON. If that fails, parses it again in a slower way that finds the path to the error.
///
/// # Errors
/// 400 that names the field.
pub fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, ApiError> {
    let parsed = serde_json::from_slice(json).map(|Object(parsed)| parsed);
    parsed.map_err(|failed| {
        let mut json = serde_json::Deserializer::from_slice(json);
        let located = serde_path_to_error::deserialize::<_, Object<T>>(&mut json);
        match located.as_ref().err().and_then(field) {
            Some((field, problem)) => {
                ApiError::invalid_field(&field, format!("{field}: {problem}"))
            }
            // Without a path, the JSON itself is malformed, or the whole body has another type.
            None => ApiError::invalid(format!("the body is not the expected JSON: {failed}")),
        }
    })
}

/// Like [`parse`], for JSON in a parameter of this name. An empty parameter counts as missing.
///
/// # Errors
/// 400 that names the field, with the parameter's name before it.
pub fn parse_parameter<'a, T>(name: &str, json: &'a str) -> Result<T, ApiError>
where
    T: Default + Deserialize<'a>,
{
    if json.is_empty() {
        return Ok(T::default());
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let Object(parsed) = serde_path_to_error::deserialize(&mut deserializer).map_err(|failed| {
        let (path, problem) = match field(&failed) {
            Some((path, problem)) => (format!("{name}.{path}"), problem),
            None => (name.to_owned(), failed.inner().to_string()),
        };
        ApiError::invalid_field(&path, format!("the parameter {path}: {problem}"))
    })?;
    deserializer.end().map_err(|failed| {
        ApiError::invalid_field(name, format!("the parameter {name}: {failed}"))
    })?;
    Ok(parsed)
}

/// The path to an error and the error itself; `None` if it is an error of the whole.
fn field<E: Display>(failed: &serde_path_to_error::Error<E>) -> Option<(String, String)> {
    let path = failed.path().to_string();
    // The last segment is unknown if the JSON ends before a name.
    let path = path.trim_end_matches('?').trim_end_matches('.');
    (!path.is_empty()).then(|| (path.to_owned(), failed.inner().to_string()))
}

/// A JSON object. Without this, serde also takes a list of the fields in their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Object<T>(
    /// What the object describes.
    pub T,
);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(PhantomData))
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Object)
    }
}

/// A JSON number with a fraction of zero, which JSON Schema counts as a whole number. Larger ones are
/// not exact.
pub fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = number.fract() == 0.0 && number.abs() <= EXACT;
    is_whole.then_some(number as i64)
}

/// The parameters in the query string. Texts are empty if they are missing.
///
/// A parameter that `T` does not have is refused, except `token`, which the token check reads.
pub struct Parameters<T>(
    /// The parameters.
    pub T,
);

/// A layer for paths without parameters.
pub fn no_parameters() -> FromExtractorLayer<Parameters<Nothing>, ()> {
    from_extractor()
}

/// An object without fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parameters(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

fn parameters<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let pairs = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != "token");
    let pairs = MapDeserializer::<_, ValueError>::new(pairs);
    serde_path_to_error::deserialize(pairs).map_err(|failed| match field(&failed) {
        Some((name, problem)) => ApiError::invalid_field(&name, format!("{name}: {problem}")),
        None => ApiError::invalid(format!("the query string: {}", failed.inner())),
    })
}

/// Checks the body of a path that takes none: it is empty, `null` or `{}`.
///
/// # Errors
/// 400 if the body has a field, or is another value.
pub fn check_no_body(body: &[u8]) -> Result<(), ApiError> {
    match body.trim_ascii() {
        b"" | b"null" => Ok(()),
        body => parse::<Nothing>(body).map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Two {
        first: String,
        second: String,
    }

    #[test]
    fn parameters_are_decoded_and_missing_ones_are_empty() {
        let two: Two = parameters("second=a%20b+c&token=secret").unwrap();
        assert_eq!((two.first.as_str(), two.second.as_str()), ("", "a b c"));
        assert_eq!(parameters::<Two>("").unwrap(), Two::default());
    }

    #[test]
    fn unknown_or_repeated_parameter_is_refused_by_its_name() {
        for (query, named) in [("frist=1", "frist"), ("first=1&first=2", "first")] {
            let refused = parameters::<Two>(query).unwrap_err();
            assert!(refused.message.contains(named), "{refused:?}");
        }
        assert!(parameters::<Nothing>("token=secret").is_ok());
        assert!(parameters::<Nothing>("x=").is_err());
    }

    #[test]
    fn body_of_a_path_without_body_may_be_null_or_an_empty_object() {
        for empty in ["", "null", "{}", " { } "] {
            assert!(check_no_body(empty.as_bytes()).is_ok(), "{empty}");
        }
        for body in ["{\"count\":1}", "7", "[]", "nonsense"] {
            assert!(check_no_body(body.as_bytes()).is_err(), "{body}");
        }
    }
}
