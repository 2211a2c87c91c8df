use serde_json::Value;

/// The texts at a path such as `order.lines.id` in a value. An array on the way, or at the end, gives the
/// texts of each element. `None` if the path leads nowhere, or to an object.
pub(super) fn texts(value: &Value, path: &str) -> Option<Vec<String>> {
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    let found = match value {
        Value::Object(entries) => entries.get(first)?,
        Value::Array(elements) => {
            let all = elements.iter().map(|element| texts(element, path));
            return all.collect::<Option<Vec<_>>>().map(|all| all.concat());
        }
        _ => return None,
    };
    match rest {
        Some(rest) => texts(found, rest),
        None => leaves(found),
    }
}

fn leaves(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Number(number) => Some(vec![number.to_string()]),
        Value::Bool(truth) => Some(vec![truth.to_string()]),
        Value::Array(elements) => {
            let all = elements.iter().map(leaves);
            all.collect::<Option<Vec<_>>>().map(|all| all.concat())
        }
        Value::Null | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::texts;

    #[test]
    fn a_path_leads_through_objects_and_arrays() {
        let data = json!({"a": {"b": "x"}, "n": 7, "list": [{"id": 1}, {"id": 2}], "none": null});
        let found = |path| texts(&data, path).map(|texts| texts.join(","));
        assert_eq!(found("a.b").as_deref(), Some("x"));
        assert_eq!(found("n").as_deref(), Some("7"));
        assert_eq!(found("list.id").as_deref(), Some("1,2"));
        for nowhere in ["a", "b", "a.b.c", "none", "list"] {
            assert_eq!(found(nowhere), None, "{nowhere}");
        }
    }
}
