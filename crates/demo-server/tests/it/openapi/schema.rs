//! The part of JSON Schema that the OpenAPI document uses for what clients send. A keyword or a
//! pattern that is not here fails the tests, so that no rule of the document goes untested.

use serde_json::{Map, Value};

pub(super) type Keywords = Map<String, Value>;

/// The OpenAPI document.
pub(super) struct Document(pub(super) Value);

impl Document {
    /// Whether the schema allows the value.
    pub(super) fn allows(&self, schema: &Value, value: &Value) -> bool {
        match schema {
            Value::Bool(any) => *any,
            schema => keywords(schema)
                .iter()
                .all(|(keyword, rule)| self.keeps(keywords(schema), keyword, rule, value)),
        }
    }

    /// The schema behind references. Of alternatives, the first that allows the value.
    pub(super) fn concrete<'a>(&'a self, schema: &'a Value, value: &Value) -> &'a Value {
        if let Some(reference) = schema.get("$ref") {
            return self.concrete(self.target(reference), value);
        }
        let alternatives = alternatives(schema);
        match alternatives
            .iter()
            .find(|schema| self.allows(schema, value))
        {
            // `anyOf` beside `properties` only restricts them.
            Some(chosen) if schema.get("properties").is_none() => self.concrete(chosen, value),
            _ => schema,
        }
    }

    pub(super) fn target(&self, reference: &Value) -> &Value {
        let path = text(reference).trim_start_matches('#');
        self.0.pointer(path).expect("the reference has a target")
    }

    fn keeps(&self, schema: &Keywords, keyword: &str, rule: &Value, value: &Value) -> bool {
        match keyword {
            "title" | "description" | "default" | "example" | "examples" => true,
            "$ref" => self.allows(self.target(rule), value),
            "oneOf" => {
                list(rule)
                    .iter()
                    .filter(|one| self.allows(one, value))
                    .count()
                    == 1
            }
            "anyOf" => list(rule).iter().any(|one| self.allows(one, value)),
            "not" => !self.allows(rule, value),
            "type" => types(rule).any(|name| is_of_type(name, value)),
            "const" => rule == value,
            "enum" => list(rule).contains(value),
            _ => match value {
                Value::Object(members) => self.keeps_object(schema, keyword, rule, members),
                Value::Array(entries) => self.keeps_array(schema, keyword, rule, entries),
                Value::String(text) => keeps_text(keyword, rule, text),
                Value::Number(_) => keeps_number(keyword, rule, value),
                Value::Null | Value::Bool(_) => true,
            },
        }
    }

    fn keeps_object(
        &self,
        schema: &Keywords,
        keyword: &str,
        rule: &Value,
        members: &Keywords,
    ) -> bool {
        let is_declared = |name: &str| {
            let properties = schema.get("properties");
            properties.is_some_and(|properties| properties.get(name).is_some())
        };
        match keyword {
            "required" => list(rule)
                .iter()
                .all(|name| members.contains_key(text(name))),
            "properties" => keywords(rule).iter().all(|(name, rule)| {
                members
                    .get(name)
                    .is_none_or(|value| self.allows(rule, value))
            }),
            "additionalProperties" => members
                .iter()
                .all(|(name, value)| is_declared(name) || self.allows(rule, value)),
            "propertyNames" => members
                .keys()
                .all(|name| self.allows(rule, &Value::from(name.as_str()))),
            _ => is_for_others(keyword),
        }
    }

    fn keeps_array(
        &self,
        schema: &Keywords,
        keyword: &str,
        rule: &Value,
        entries: &[Value],
    ) -> bool {
        let first = schema
            .get("prefixItems")
            .map_or(0, |prefix| list(prefix).len());
        match keyword {
            "prefixItems" => list(rule)
                .iter()
                .zip(entries)
                .all(|(rule, value)| self.allows(rule, value)),
            "items" => entries
                .iter()
                .skip(first)
                .all(|value| self.allows(rule, value)),
            "minItems" => entries.len() >= count(rule),
            "maxItems" => entries.len() <= count(rule),
            _ => is_for_others(keyword),
        }
    }
}

fn keeps_text(keyword: &str, rule: &Value, value: &str) -> bool {
    match keyword {
        "minLength" => value.chars().count() >= count(rule),
        "maxLength" => value.chars().count() <= count(rule),
        "pattern" => Pattern::of(text(rule)).fits(value),
        "format" => text(rule) != "uuid" || uuid::Uuid::try_parse(value).is_ok(),
        _ => is_for_others(keyword),
    }
}

fn keeps_number(keyword: &str, rule: &Value, value: &Value) -> bool {
    // No schema allows fractions, so `type` alone decides on them.
    let Some(value) = whole(value) else {
        return true;
    };
    match keyword {
        "minimum" => Some(value) >= whole(rule),
        "maximum" => Some(value) <= whole(rule),
        "format" => text(rule) != "int64" || i64::try_from(value).is_ok(),
        _ => is_for_others(keyword),
    }
}

/// A keyword that says nothing about values of this type.
fn is_for_others(keyword: &str) -> bool {
    const KNOWN: [&str; 13] = [
        "additionalProperties",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "prefixItems",
        "properties",
        "propertyNames",
    ];
    assert!(
        KNOWN.contains(&keyword) || keyword == "required",
        "the tests do not know the keyword {keyword}"
    );
    true
}

/// The patterns of the document, which would otherwise need an engine for regular expressions.
#[derive(Clone, Copy)]
pub(super) enum Pattern {
    NoNul,
    Digits,
    Place,
    Uuid,
    Token,
}

impl Pattern {
    pub(super) fn of(pattern: &str) -> Self {
        match pattern {
            "^[^\\u0000]*$" => Self::NoNul,
            "^[0-9]{1,20}$" => Self::Digits,
            "^[0-9]{1,20}(@[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})?$" => Self::Place,
            "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$" => Self::Uuid,
            "^ns_[A-Za-z0-9_-]+_[0-9a-f]{64}$" => Self::Token,
            _ => panic!("the tests do not know the pattern {pattern}"),
        }
    }

    fn fits(self, value: &str) -> bool {
        match self {
            Self::NoNul => !value.contains('\0'),
            Self::Digits => {
                (1..=20).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
            }
            Self::Place => match value.split_once('@') {
                Some((digits, id)) => Self::Digits.fits(digits) && Self::Uuid.fits(id),
                None => Self::Digits.fits(value),
            },
            // The other forms that the parser knows have other lengths.
            Self::Uuid => value.len() == 36 && value.parse::<uuid::Uuid>().is_ok(),
            Self::Token => value == self.sample(),
        }
    }

    /// A text that fits. The token names the namespace `x`.
    pub(super) fn sample(self) -> String {
        match self {
            Self::NoNul => "x".to_owned(),
            Self::Digits => "7".to_owned(),
            Self::Place => format!("7@{}", Self::Uuid.sample()),
            Self::Uuid => uuid::Uuid::from_u128(7).to_string(),
            Self::Token => format!("ns_eA_{}", "0".repeat(64)),
        }
    }
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => whole(value).is_some(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("the tests do not know the type {name}"),
    }
}

/// The names in `type`.
pub(super) fn types(rule: &Value) -> impl Iterator<Item = &str> {
    let one = rule.as_str();
    let several = rule.as_array().map_or(&[][..], Vec::as_slice);
    one.into_iter().chain(several.iter().map(text))
}

/// The alternatives of `oneOf` or `anyOf`.
pub(super) fn alternatives(schema: &Value) -> &[Value] {
    let rule = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    rule.map_or(&[], |rule| list(rule))
}

pub(super) fn whole(value: &Value) -> Option<i128> {
    let exact = value.as_u64().map(i128::from);
    let exact = exact.or_else(|| value.as_i64().map(i128::from));
    // A fraction of zero does not make a number a fraction.
    let float = value.as_f64().filter(|number| number.fract() == 0.0);
    exact.or_else(|| float.map(|number| number as i128))
}

pub(super) fn count(rule: &Value) -> usize {
    let count = rule.as_u64().expect("the limit is a whole number");
    usize::try_from(count).expect("the limit fits")
}

pub(super) fn keywords(schema: &Value) -> &Keywords {
    schema.as_object().expect("a schema is an object")
}

pub(super) fn list(rule: &Value) -> &[Value] {
    rule.as_array().expect("it is a list")
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().expect("it is a string")
}
