use std::fmt;

use dcb_core::{Bookmark, Position};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use uuid::Uuid;

use crate::error::ApiError;
use crate::input::whole;

/// A position as clients write it: a number, or a string of decimal digits. 0 means before the
/// first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(pub(super) u64);

impl Mark {
    const EXPECTED: &str = "a whole number from 0, or a string of 1 to 20 digits";

    /// Parses the text of a URL parameter.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, ApiError> {
        digits(text).ok_or_else(|| {
            let message = format!("{name} must be a position: {}", Self::EXPECTED);
            ApiError::invalid_field(name, message)
        })
    }

    pub(super) fn position(self) -> Option<Position> {
        Position::new(self.0)
    }
}

fn digits(text: &str) -> Option<Mark> {
    // `parse` alone would also accept a leading plus sign.
    let are_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=20).contains(&text.len());
    // 20 digits may exceed the type. No log is that long, so the largest number means the same.
    (are_digits && fits).then(|| Mark(text.parse().unwrap_or(u64::MAX)))
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Digits)
    }
}

/// The place of the last event that a client has seen: a [`Mark`], or a string of its digits with `@`
/// and the id of the event there, which lets the server notice that the log was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    mark: Mark,
    event_id: Option<EventId>,
}

impl Place {
    const EXPECTED: &str =
        "a whole number from 0, a string of 1 to 20 digits, or one with @ and a UUID";

    /// Parses the text of a URL parameter or header.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, ApiError> {
        place(text).ok_or_else(|| {
            let message = format!("{name} must be a position: {}", Self::EXPECTED);
            ApiError::invalid_field(name, message)
        })
    }

    /// The bookmark, with this id of the event if it has none itself. `None` for position 0.
    pub(super) fn bookmark(self, event_id: Option<EventId>) -> Option<Bookmark> {
        let position = self.mark.position()?;
        let event_id = self.event_id.or(event_id).map(|EventId(id)| id);
        Some(Bookmark { position, event_id })
    }
}

fn place(text: &str) -> Option<Place> {
    let (number, id) = match text.split_once('@') {
        Some((number, id)) => (number, Some(id)),
        None => (text, None),
    };
    Some(Place {
        mark: digits(number)?,
        event_id: match id {
            Some(id) => Some(EventId::parse(id)?),
            None => None,
        },
    })
}

/// The id of an event: a UUID with hyphens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId(Uuid);

impl EventId {
    fn parse(text: &str) -> Option<Self> {
        const CHARS: usize = 36;
        let id = Uuid::parse_str(text).ok()?;
        // The other forms that the parser knows have other lengths.
        (text.len() == CHARS).then_some(Self(id))
    }
}

impl<'de> Deserialize<'de> for EventId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("expected a UUID with hyphens"))
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Places)
    }
}

struct Places;

impl Visitor<'_> for Places {
    type Value = Place;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Place::EXPECTED)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Place, E> {
        Ok(Mark(number).into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Place, E> {
        Digits.visit_f64(number).map(Place::from)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Place, E> {
        place(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

impl From<Mark> for Place {
    fn from(mark: Mark) -> Self {
        Self {
            mark,
            event_id: None,
        }
    }
}

struct Digits;

impl Visitor<'_> for Digits {
    type Value = Mark;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Mark::EXPECTED)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Mark, E> {
        Ok(Mark(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Mark, E> {
        let whole = whole(number).and_then(|number| u64::try_from(number).ok());
        let unexpected = serde::de::Unexpected::Float(number);
        whole
            .map(Mark)
            .ok_or_else(|| E::invalid_type(unexpected, &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Mark, E> {
        digits(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_digit_strings_are_positions() {
        for (json, number) in [
            ("0", 0),
            ("7", 7),
            ("7.0", 7),
            ("\"7\"", 7),
            ("\"007\"", 7),
            ("18446744073709551615", u64::MAX),
            ("\"18446744073709551615\"", u64::MAX),
            ("\"18446744073709551616\"", u64::MAX),
        ] {
            let mark: Mark = serde_json::from_str(json).unwrap();
            assert_eq!(mark.0, number, "{json}");
        }
    }

    #[test]
    fn place_may_have_the_id_of_its_event() {
        let id = Uuid::from_u128(7);
        let with_id = Some(Bookmark::new(Position::FIRST, id));
        let plain = Some(Position::FIRST.into());
        for (json, bookmark) in [
            (format!("\"1@{id}\""), with_id),
            ("\"1\"".to_owned(), plain),
            ("1".to_owned(), plain),
            ("1.0".to_owned(), plain),
            ("0".to_owned(), None),
            (format!("\"0@{id}\""), None),
        ] {
            let place: Place = serde_json::from_str(&json).unwrap();
            assert_eq!(place.bookmark(None), bookmark, "{json}");
        }
        for json in ["\"1@\"", "\"@\"", "\"1@7\"", "\"x\"", "-1", "[]"] {
            assert!(serde_json::from_str::<Place>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn other_json_values_are_no_positions() {
        for json in [
            "-1",
            "1.5",
            "-1.0",
            "1e30",
            "\"\"",
            "\"+7\"",
            "\"-1\"",
            "\" 7\"",
            "\"7a\"",
            "18446744073709551616",
            "\"100000000000000000000\"",
            "true",
            "[]",
        ] {
            assert!(serde_json::from_str::<Mark>(json).is_err(), "{json}");
        }
    }
}
