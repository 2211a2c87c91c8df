//! The nested lists of a request, read one element at a time. A decoded list can take 60 times the
//! memory of its encoding.

use prost::Message;
use serde::de::{DeserializeOwned, Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::write::{Encoding, Malformed};
use crate::wire::remote_write::{Fields, Value};

/// The most bytes of a message that is decoded as a whole: a data point, or the attributes of a resource.
const MAX_DECODED_BYTES: usize = 256 << 10;

/// A message that is not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'m> {
    Protobuf(&'m [u8]),
    Json(&'m RawValue),
}

/// A field: its number in protocol buffers, and its name in JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field(pub(super) u64, pub(super) &'static str);

impl<'m> Part<'m> {
    /// A request. Checks the syntax of JSON.
    pub(super) fn of(encoding: Encoding, body: &'m [u8]) -> Result<Self, Malformed> {
        match encoding {
            Encoding::Protobuf => Ok(Self::Protobuf(body)),
            Encoding::Json => serde_json::from_slice(body)
                .map(Self::Json)
                .map_err(|failed| Malformed::of(&failed)),
        }
    }

    /// Calls `show` with each message in a field. Returns whether there is one.
    pub(super) fn each(
        self,
        field: Field,
        mut show: impl FnMut(Self) -> Result<(), Malformed>,
    ) -> Result<bool, Malformed> {
        let Field(number, name) = field;
        let mut found = false;
        match self {
            Self::Protobuf(bytes) => {
                let mut fields = Fields::new(bytes);
                let truncated = |_| Malformed::of(&"a message is truncated");
                while let Some(field) = fields.next().map_err(truncated)? {
                    match field {
                        (at, Value::Bytes(message)) if at == number => {
                            found = true;
                            show(Self::Protobuf(message))?;
                        }
                        _ => {}
                    }
                }
            }
            Self::Json(json) => {
                let members = Members { name, found: None };
                let member =
                    serde_json::Deserializer::from_str(json.get()).deserialize_map(members);
                match member.map_err(|failed| Malformed::of(&failed))? {
                    None => {}
                    Some(list) if list.get().starts_with('[') => {
                        found = true;
                        serde_json::Deserializer::from_str(list.get())
                            .deserialize_seq(Elements(&mut |json| show(Self::Json(json))))
                            .map_err(|failed| Malformed::of(&failed))?;
                    }
                    Some(null) if null.get() == "null" => {}
                    Some(message) => {
                        found = true;
                        show(Self::Json(message))?;
                    }
                }
            }
        }
        Ok(found)
    }

    /// Decodes a message. Fields that its type does not have are skipped.
    pub(super) fn decode<T: Message + Default + DeserializeOwned>(self) -> Result<T, Malformed> {
        let length = match self {
            Self::Protobuf(bytes) => bytes.len(),
            Self::Json(json) => json.get().len(),
        };
        if length > MAX_DECODED_BYTES {
            let reason =
                format!("a data point or a resource has more than {MAX_DECODED_BYTES} bytes");
            return Err(Malformed::of(&reason));
        }
        self.decode_head()
    }

    /// Like [`Part::decode`], for a type without lists, in a message of any length.
    pub(super) fn decode_head<T: Message + Default + DeserializeOwned>(
        self,
    ) -> Result<T, Malformed> {
        match self {
            Self::Protobuf(bytes) => T::decode(bytes).map_err(|failed| Malformed::of(&failed)),
            Self::Json(json) => {
                serde_json::from_str(json.get()).map_err(|failed| Malformed::of(&failed))
            }
        }
    }
}

/// Finds the member of a JSON object.
struct Members<'m> {
    name: &'static str,
    found: Option<&'m RawValue>,
}

impl<'m> Visitor<'m> for Members<'m> {
    type Value = Option<&'m RawValue>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'m>>(mut self, mut members: A) -> Result<Self::Value, A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            if name == self.name {
                self.found = Some(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(self.found)
    }
}

/// Shows the elements of a JSON array.
struct Elements<'a, 'm>(&'a mut dyn FnMut(&'m RawValue) -> Result<(), Malformed>);

impl<'m> Visitor<'m> for Elements<'_, 'm> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'m>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element()? {
            (self.0)(element).map_err(|Malformed { reason }| serde::de::Error::custom(reason))?;
        }
        Ok(())
    }
}
