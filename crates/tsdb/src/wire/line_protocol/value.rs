/// Converts a field's value to the number that is stored; `None` if it is a string.
pub(super) fn number(text: &str) -> Result<Option<f64>, &'static str> {
    match text.strip_prefix('"') {
        Some(rest) => string(rest).map(|()| None),
        None => of_number(text).map(Some),
    }
}

/// Checks that a string ends where the value does.
fn string(after_quote: &str) -> Result<(), &'static str> {
    let mut bytes = after_quote.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' if bytes.len() == 0 => return Ok(()),
            b'"' => return Err("text follows the end of a string"),
            _ => {}
        }
    }
    Err("a string has no end")
}

fn of_number(text: &str) -> Result<f64, &'static str> {
    const NOT_A_NUMBER: &str = "the value is not a number";
    match text {
        "t" | "T" | "true" | "True" | "TRUE" => return Ok(1.0),
        "f" | "F" | "false" | "False" | "FALSE" => return Ok(0.0),
        _ => {}
    }
    if let Some(integer) = text.strip_suffix('i') {
        return integer
            .parse::<i64>()
            .map(|value| value as f64)
            .map_err(|_| NOT_A_NUMBER);
    }
    if let Some(integer) = text.strip_suffix('u') {
        return integer
            .parse::<u64>()
            .map(|value| value as f64)
            .map_err(|_| NOT_A_NUMBER);
    }
    // The standard library would also parse `inf` and `nan`.
    let digits = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        && text.ends_with(|last: char| last.is_ascii_digit() || last == '.');
    match text.parse::<f64>() {
        Ok(value) if digits && value.is_finite() => Ok(value),
        _ => Err(NOT_A_NUMBER),
    }
}
