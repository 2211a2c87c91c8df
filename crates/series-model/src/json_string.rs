use std::fmt::Write;

/// Appends a JSON string with quotes and escapes.
pub fn push_json_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x00..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..index]);
        out.push_str(escape);
        if escape.is_empty() {
            // Writing to a String doesn't fail.
            let _ = write!(out, "\\u{byte:04x}");
        }
        plain = index + 1;
    }
    out.push_str(&text[plain..]);
    out.push('"');
}
