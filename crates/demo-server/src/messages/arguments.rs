use std::borrow::Cow;

use message_store::{Category, Error, StreamName};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::api_error;
use crate::error::ApiError;

/// The arguments of a call, unparsed.
pub(super) struct Arguments<'a>(Vec<&'a RawValue>);

/// A JSON text, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The method and the arguments of a call: `["method", args...]`.
///
/// # Errors
/// 400 where the body is something else.
pub(super) fn parse(body: &[u8]) -> Result<(Cow<'_, str>, Arguments<'_>), ApiError> {
    let values: Vec<&RawValue> = serde_json::from_slice(body).map_err(|failed| {
        let (line, column) = (failed.line(), failed.column());
        ApiError::invalid(format!(
            "the body is no JSON array [\"method\", arguments...]: line {line}, column {column}"
        ))
    })?;
    let Some((method, _)) = values.split_first() else {
        return Err(ApiError::invalid("the method is missing"));
    };
    let method = text("method", method)?;
    Ok((method, Arguments(values)))
}

impl<'a> Arguments<'a> {
    /// The argument at this place, from 1.
    pub(super) fn required(&self, place: usize, name: &str) -> Result<&'a RawValue, ApiError> {
        let value = self.0.get(place).copied();
        value.ok_or_else(|| ApiError::invalid_field(name, format!("{name} is missing")))
    }

    /// A text at this place.
    pub(super) fn text(&self, place: usize, name: &str) -> Result<Cow<'a, str>, ApiError> {
        text(name, self.required(place, name)?)
    }

    /// The stream at this place.
    pub(super) fn stream(&self, place: usize) -> Result<StreamName, ApiError> {
        StreamName::new(self.text(place, "stream")?).map_err(api_error)
    }

    /// The category at this place, `""` for all messages.
    pub(super) fn category(&self, place: usize) -> Result<Category, ApiError> {
        Category::new(self.text(place, "category")?).map_err(api_error)
    }

    /// The options at this place; none where there are none.
    pub(super) fn options<T: Deserialize<'a> + Default>(
        &self,
        place: usize,
    ) -> Result<T, ApiError> {
        match self.0.get(place) {
            None => Ok(T::default()),
            Some(value) if value.get() == "null" => Ok(T::default()),
            Some(value) => object("options", value),
        }
    }
}

/// The members of an object, unparsed; others than `T` has are passed over.
pub(super) fn object<'a, T: Deserialize<'a>>(
    field: &str,
    value: &'a RawValue,
) -> Result<T, ApiError> {
    if !value.get().starts_with('{') {
        let message = format!("{field} is no JSON object");
        return Err(ApiError::invalid_field(field, message));
    }
    serde_json::from_str(value.get())
        .map_err(|_| ApiError::invalid_field(field, format!("{field} has a member twice")))
}

/// A text that every database can store.
pub(super) fn text<'a>(field: &str, value: &'a RawValue) -> Result<Cow<'a, str>, ApiError> {
    let text: Text<'a> = serde_json::from_str(value.get())
        .map_err(|_| ApiError::invalid_field(field, format!("{field} is no text")))?;
    if text.0.contains('\0') {
        let message = format!("{field} contains a NUL character");
        return Err(ApiError::invalid_field(field, message));
    }
    Ok(text.0)
}

pub(super) fn integer(field: &str, value: &RawValue) -> Result<i64, ApiError> {
    serde_json::from_str(value.get())
        .map_err(|_| ApiError::invalid_field(field, format!("{field} is no whole number")))
}

/// A position, from the start where it is negative.
pub(super) fn position(field: &str, value: &RawValue) -> Result<u64, ApiError> {
    Ok(u64::try_from(integer(field, value)?).unwrap_or(0))
}

/// Names the field that a store's error is about, where the caller calls it something else.
pub(super) fn renamed(field: &'static str) -> impl Fn(Error) -> ApiError {
    move |failed| match failed {
        Error::Invalid { problem, .. } => {
            ApiError::invalid_field(field, format!("{field} {problem}"))
        }
        other => api_error(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_an_array_that_begins_with_its_method() {
        let (method, arguments) = parse(br#" ["stream.get", "a-1", {"position": 2}] "#).unwrap();
        assert_eq!(method, "stream.get");
        assert_eq!(arguments.text(1, "stream").unwrap(), "a-1");
        assert_eq!(
            arguments.required(2, "options").unwrap().get(),
            r#"{"position": 2}"#
        );
        for body in [
            "",
            "[]",
            "{}",
            "7",
            "[7]",
            r#"["a""#,
            r#"["a"] 7"#,
            r#""secret""#,
            "\u{1}",
        ] {
            let refused = parse(body.as_bytes()).err().unwrap();
            assert_eq!(refused.code, "INVALID_REQUEST", "{body}");
            assert!(!refused.message.contains("secret"));
        }
        assert!(parse(b"[\"\xff\"]").is_err());
    }

    #[test]
    fn data_is_passed_on_as_it_is() {
        let body = br#"["m", {"b":1.10,  "a":"\u0041", "b":2}]"#;
        let (_, arguments) = parse(body).unwrap();
        let data = arguments.required(1, "data").unwrap().get();
        assert_eq!(data, r#"{"b":1.10,  "a":"\u0041", "b":2}"#);
    }
}
