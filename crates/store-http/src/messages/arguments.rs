use std::borrow::Cow;

use message_store::{Bookmark, Category, Error, GlobalPosition, Problem, StreamName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::ApiError;
use crate::input::whole;

/// The unparsed arguments of a call. Index 0 is the method.
pub(super) struct Arguments<'a>(Vec<&'a RawValue>);

/// A JSON string, borrowed unless it contains escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Splits a call into its method and arguments: `["method", args...]`.
///
/// # Errors
/// 400 if the body has another form.
pub(super) fn parse(body: &[u8]) -> Result<(Cow<'_, str>, Arguments<'_>), ApiError> {
    let values: Vec<&RawValue> = serde_json::from_slice(body).map_err(|failed| {
        // serde's own message may quote the body, which may contain secrets.
        let (line, column) = (failed.line(), failed.column());
        ApiError::invalid(format!(
            "expected a JSON array [\"method\", arguments...]: error at line {line}, column {column}"
        ))
    })?;
    let Some((method, _)) = values.split_first() else {
        return Err(ApiError::invalid("the method is missing"));
    };
    let method = text("method", method)?;
    Ok((method, Arguments(values)))
}

impl<'a> Arguments<'a> {
    /// Checks the number of arguments after the method. The interface's methods only take fewer.
    pub(super) fn at_most(&self, count: usize) -> Result<(), ApiError> {
        let actual = self.0.len() - 1;
        if actual <= count {
            return Ok(());
        }
        let message = format!("the method takes at most {count} arguments, got {actual}");
        Err(ApiError::invalid_field("arguments", message))
    }

    /// The argument at this index, counted from 1.
    pub(super) fn required(&self, index: usize, name: &str) -> Result<&'a RawValue, ApiError> {
        let value = self.0.get(index).copied();
        value.ok_or_else(|| ApiError::invalid_field(name, format!("{name} is missing")))
    }

    /// The string at this index.
    pub(super) fn text(&self, index: usize, name: &str) -> Result<Cow<'a, str>, ApiError> {
        text(name, self.required(index, name)?)
    }

    /// The stream at this index.
    pub(super) fn stream(&self, index: usize) -> Result<StreamName, ApiError> {
        Ok(StreamName::new(self.text(index, "stream")?)?)
    }

    /// The category at this index; `""` selects all messages. `None` for a name with a hyphen,
    /// which no category has.
    pub(super) fn category(&self, index: usize) -> Result<Option<Category>, ApiError> {
        match Category::new(self.text(index, "category")?) {
            Ok(category) => Ok(Some(category)),
            Err(Error::Invalid {
                problem: Problem::Malformed { .. },
                ..
            }) => Ok(None),
            Err(failed) => Err(failed.into()),
        }
    }

    /// The options at this index, or the defaults if they are missing or `null`.
    pub(super) fn options<T: Deserialize<'a> + Default>(
        &self,
        index: usize,
    ) -> Result<T, ApiError> {
        match self.0.get(index) {
            None => Ok(T::default()),
            Some(value) if value.get() == "null" => Ok(T::default()),
            Some(value) => object("options", "", value),
        }
    }
}

/// Parses the members of an object. `prefix` comes before the name of a member in errors.
pub(super) fn object<'a, T: Deserialize<'a>>(
    field: &str,
    prefix: &str,
    value: &'a RawValue,
) -> Result<T, ApiError> {
    if !value.get().starts_with('{') {
        let message = format!("{field} must be a JSON object");
        return Err(ApiError::invalid_field(field, message));
    }
    let mut members = serde_json::Deserializer::from_str(value.get());
    // The members stay unparsed JSON, so only an unknown or a duplicate one can fail here.
    serde_path_to_error::deserialize(&mut members).map_err(|failed| {
        match failed.path().iter().next().is_some() {
            true => {
                let member = format!("{prefix}{}", failed.path());
                ApiError::invalid_field(&member, format!("{field} has no member {member}"))
            }
            false => ApiError::invalid_field(field, format!("{field} has a duplicate member")),
        }
    })
}

/// Parses a string. Rejects NUL, which PostgreSQL can't store.
pub(super) fn text<'a>(field: &str, value: &'a RawValue) -> Result<Cow<'a, str>, ApiError> {
    let text: Text<'a> = serde_json::from_str(value.get())
        .map_err(|_| ApiError::invalid_field(field, format!("{field} must be a string")))?;
    if text.0.contains('\0') {
        let message = format!("{field} contains a NUL character");
        return Err(ApiError::invalid_field(field, message));
    }
    Ok(text.0)
}

pub(super) fn integer(field: &str, value: &RawValue) -> Result<i64, ApiError> {
    let number = serde_json::from_str::<i64>(value.get()).ok();
    let number = number.or_else(|| whole(serde_json::from_str(value.get()).ok()?));
    number.ok_or_else(|| ApiError::invalid_field(field, format!("{field} must be a whole number")))
}

/// A position. Negative values mean the start.
pub(super) fn position(field: &str, value: &RawValue) -> Result<u64, ApiError> {
    Ok(u64::try_from(integer(field, value)?).unwrap_or(0))
}

/// The last message that the client has handled: a number, or a text as for [`bookmark`].
pub(super) fn after(field: &str, value: &RawValue) -> Result<Bookmark, ApiError> {
    if value.get().starts_with('"') {
        return bookmark(field, &text(field, value)?);
    }
    let number = u64::try_from(integer(field, value)?);
    let number = number.map_err(|_| ApiError::invalid_field(field, no_bookmark(field)))?;
    Ok(GlobalPosition::new(number).into())
}

/// A bookmark, `<global position>@<message id>`, or the digits of a global position.
pub(super) fn bookmark(field: &str, text: &str) -> Result<Bookmark, ApiError> {
    // `parse` alone would also accept a leading plus sign.
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    let parsed = is_number.then(|| text.parse().ok()).flatten();
    parsed.ok_or_else(|| ApiError::invalid_field(field, no_bookmark(field)))
}

fn no_bookmark(field: &str) -> String {
    format!("{field} must be a global position from 0, or <global position>@<message id>")
}

/// Replaces the field name of a store's error with the one in the request.
pub(super) fn renamed(field: &'static str) -> impl Fn(Error) -> ApiError {
    move |failed| match failed {
        Error::Invalid { problem, .. } => {
            ApiError::invalid_field(field, format!("{field} {problem}"))
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_an_array_that_begins_with_its_method() {
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
    fn numbers_and_texts_are_bookmarks() {
        let after = |json: &str| {
            let value: Box<RawValue> = serde_json::from_str(json).unwrap();
            after("after", &value).map(|bookmark| bookmark.to_string())
        };
        let text = "7@019a0000-0000-7000-8000-000000000001";
        for (json, expected) in [
            ("7", "7"),
            ("7.0", "7"),
            ("0", "0"),
            ("\"7\"", "7"),
            (&format!("\"{text}\""), text),
        ] {
            assert_eq!(after(json).unwrap(), expected);
        }
        for json in [
            "-1", "1.5", "\"+7\"", "\"7@\"", "\"7@x\"", "\"@\"", "\"\"", "[]",
        ] {
            let refused = after(json).unwrap_err();
            assert_eq!(refused.details.unwrap()["field"], "after", "{json}");
        }
    }

    #[test]
    fn data_is_passed_on_unchanged() {
        let body = br#"["m", {"b":1.10,  "a":"\u0041", "b":2}]"#;
        let (_, arguments) = parse(body).unwrap();
        let data = arguments.required(1, "data").unwrap().get();
        assert_eq!(data, r#"{"b":1.10,  "a":"\u0041", "b":2}"#);
    }
}
