//! Values for a schema: a valid one with all fields, and changes of it.

use serde_json::{Value, json};

use super::schema::{
    Document, Keywords, Pattern, alternatives, count, keywords, list, text, types, whole,
};

/// A list longer than this is not made, to keep the tests fast.
const MAX_LIST: usize = 2000;

impl Document {
    /// Valid values: one for each alternative, with as many fields as may stand together.
    pub(super) fn samples(&self, schema: &Value) -> Vec<Value> {
        if let Some(reference) = schema.get("$ref") {
            return self.samples(self.target(reference));
        }
        if schema.get("properties").is_none() && !alternatives(schema).is_empty() {
            let alternatives = alternatives(schema).iter();
            return alternatives.flat_map(|one| self.samples(one)).collect();
        }
        vec![self.sample(schema)]
    }

    /// A valid value.
    pub(super) fn sample(&self, schema: &Value) -> Value {
        if schema.get("$ref").is_some() || schema.get("oneOf").is_some() {
            return self.samples(schema).swap_remove(0);
        }
        if let Some(given) = given(schema) {
            return given;
        }
        let Some(name) = schema.get("type").and_then(|rule| types(rule).next()) else {
            // A schema without a type is one of alternatives, or allows everything.
            return match schema.get("anyOf") {
                Some(_) => self.samples(schema).swap_remove(0),
                None => json!({ "any": [1.5, "text", null] }),
            };
        };
        match name {
            "object" => self.object(schema),
            "array" => self.array(schema),
            "string" => pattern(schema)
                .map_or("x".to_owned(), Pattern::sample)
                .into(),
            "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
            "boolean" => true.into(),
            "number" => json!(1.5),
            _ => Value::Null,
        }
    }

    fn object(&self, schema: &Value) -> Value {
        let properties = schema.get("properties").map(keywords);
        let mut value: Keywords = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), self.sample(schema)))
            .collect();
        if properties.is_none() {
            value.insert("any".to_owned(), "x".into());
        }
        // Some fields exclude each other.
        let names: Vec<String> = value.keys().cloned().collect();
        let one = names.iter().map(|name| vec![name]);
        let two = names
            .iter()
            .flat_map(|a| names.iter().map(move |b| vec![a, b]));
        let left_out = std::iter::once(Vec::new()).chain(one).chain(two);
        let mut rest = left_out.map(|left_out| {
            let mut rest = value.clone();
            rest.retain(|name, _| !left_out.contains(&name));
            Value::from(rest)
        });
        let allowed = rest.find(|rest| self.allows(schema, rest));
        allowed.unwrap_or_else(|| value.clone().into())
    }

    fn array(&self, schema: &Value) -> Value {
        match (schema.get("prefixItems"), schema.get("items")) {
            (Some(prefix), _) => list(prefix).iter().map(|one| self.sample(one)).collect(),
            (None, Some(items)) => json!([self.sample(items)]),
            (None, None) => json!([]),
        }
    }

    /// The value with one place changed: other types, values at and beyond each limit, missing and
    /// unknown fields. Not all of these are invalid.
    pub(super) fn changes(&self, schema: &Value, value: &Value) -> Vec<Value> {
        let concrete = self.concrete(schema, value);
        let mut changes = others();
        changes.extend(self.limits(schema));
        match value {
            Value::Object(members) => changes.extend(self.member_changes(concrete, members)),
            Value::Array(entries) => changes.extend(self.entry_changes(concrete, entries)),
            _ => {}
        }
        changes
    }

    fn member_changes(&self, schema: &Value, members: &Keywords) -> Vec<Value> {
        let with = |name: &str, value: Value| {
            let mut members = members.clone();
            members.insert(name.to_owned(), value);
            Value::from(members)
        };
        let mut changes = vec![
            with("unknown", json!(1)),
            with("", json!("x")),
            with("\0", json!("x")),
        ];
        for (name, value) in members {
            let mut fewer = members.clone();
            fewer.remove(name);
            changes.push(fewer.into());
            let schema = property(schema, name).into_iter();
            let values = schema.flat_map(|schema| self.changes(schema, value));
            changes.extend(values.map(|value| with(name, value)));
        }
        let properties = schema.get("properties").map(keywords);
        for (name, schema) in properties.into_iter().flatten() {
            changes.extend(
                self.samples(schema)
                    .into_iter()
                    .map(|value| with(name, value)),
            );
        }
        changes
    }

    fn entry_changes(&self, schema: &Value, entries: &[Value]) -> Vec<Value> {
        let mut changes = Vec::new();
        for (index, value) in entries.iter().enumerate() {
            changes.push(entries[..index].into());
            for value in self.changes(entry(schema, index), value) {
                let mut entries = entries.to_vec();
                entries[index] = value;
                changes.push(entries.into());
            }
        }
        if schema.get("prefixItems").is_some() {
            changes.push(entries.iter().cloned().chain([json!(1)]).collect());
        }
        changes
    }

    /// Values at the limits of a schema and of its alternatives, and just beyond them.
    fn limits(&self, schema: &Value) -> Vec<Value> {
        if let Some(reference) = schema.get("$ref") {
            return self.limits(self.target(reference));
        }
        let Some(rules) = schema.as_object() else {
            return Vec::new();
        };
        let inner = alternatives(schema).iter();
        let mut limits: Vec<Value> = inner.flat_map(|one| self.limits(one)).collect();
        for (keyword, rule) in rules {
            match keyword.as_str() {
                "minLength" | "maxLength" => limits.extend(texts(count(rule))),
                "minimum" | "maximum" => limits.extend(numbers(rule)),
                "minItems" | "maxItems" => {
                    limits.extend(self.lists(schema.get("items"), count(rule)));
                }
                "enum" => limits.extend(list(rule).iter().cloned()),
                _ => {}
            }
        }
        limits
    }

    fn lists(&self, items: Option<&Value>, length: usize) -> Vec<Value> {
        let Some(items) = items.filter(|items| items.is_object() && length <= MAX_LIST) else {
            return Vec::new();
        };
        let item = self.sample(items);
        // Of a list at its maximum the entries may have to differ, so it stays out.
        let lengths = [length.saturating_sub(1).min(1), length + 1];
        let lists = lengths.map(|length| Value::from(vec![item.clone(); length]));
        lists.into()
    }
}

/// A value that the schema itself gives.
fn given(schema: &Value) -> Option<Value> {
    let examples = schema.get("examples").and_then(|examples| examples.get(0));
    let is_object = schema.get("properties").is_some();
    let example = schema.get("example").filter(|_| !is_object);
    let first = schema.get("enum").and_then(|values| values.get(0));
    let formatted = schema.get("format").and_then(|format| match text(format) {
        "uuid" => Some(json!("019a0000-0000-7000-8000-000000000001")),
        "date-time" => Some(json!("2026-01-15T10:30:00Z")),
        _ => None,
    });
    let given = schema.get("const").or(examples).or(example).or(first);
    given.cloned().or(formatted)
}

fn pattern(schema: &Value) -> Option<Pattern> {
    schema
        .get("pattern")
        .map(|pattern| Pattern::of(text(pattern)))
}

/// The schema of a member; `None` if members of this name may have any value.
fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let declared = schema.get("properties").and_then(|all| all.get(name));
    let other = schema.get("additionalProperties");
    declared.or(other.filter(|other| other.is_object()))
}

fn entry(schema: &Value, index: usize) -> &Value {
    let prefix = schema
        .get("prefixItems")
        .and_then(|prefix| prefix.get(index));
    prefix.unwrap_or(&schema["items"])
}

/// Values of all types.
fn others() -> Vec<Value> {
    let digits = "1".repeat(25);
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(2.0),
        json!(u64::MAX),
        json!(""),
        json!("x"),
        json!("7"),
        json!("x\0y"),
        json!(digits),
        json!([]),
        json!([null]),
        json!({}),
        json!({ "unknown": 1 }),
    ]
}

fn texts(length: usize) -> [Value; 3] {
    let lengths = [length.saturating_sub(1), length, length + 1];
    lengths.map(|length| "x".repeat(length).into())
}

fn numbers(rule: &Value) -> Vec<Value> {
    let limit = whole(rule).expect("the limit is a whole number");
    let around = [limit - 1, limit, limit + 1];
    let signed = around
        .into_iter()
        .filter_map(|number| i64::try_from(number).ok());
    let mut numbers: Vec<Value> = signed.map(Value::from).collect();
    let unsigned = around
        .into_iter()
        .filter_map(|number| u64::try_from(number).ok());
    numbers.extend(unsigned.map(Value::from));
    numbers
}
