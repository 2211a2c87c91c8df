//! Prometheus' names for metrics and attributes.

/// The kinds of metrics whose names differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    Counter,
    Gauge,
    Other,
}

/// The name of a metric. `None` if no letter or digit is left of it.
pub(super) fn metric_name(name: &str, unit: &str, kind: NameKind) -> Option<String> {
    let is_separator = |char: char| !is_valid(char) && char != ':';
    let tokens = name.split(is_separator).filter(|token| !token.is_empty());
    let mut tokens: Vec<String> = tokens.map(str::to_owned).collect();
    add_unit(&mut tokens, unit);
    match kind {
        NameKind::Counter => move_to_end(&mut tokens, "total"),
        NameKind::Gauge if unit == "1" => move_to_end(&mut tokens, "ratio"),
        _ => {}
    }
    let mut name = tokens.join("_");
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert(0, '_');
    }
    (!name.bytes().all(|byte| byte == b'_')).then_some(name)
}

/// The name of an attribute as a label. `None` if it has only underscores.
pub(super) fn label_name(attribute: &str) -> Option<String> {
    let chars = attribute.chars();
    let name: String = chars
        .map(|char| if is_valid(char) { char } else { '_' })
        .collect();
    let name = match name.as_bytes() {
        [b'0'..=b'9', ..] => format!("key_{name}"),
        // Names with two underscores are reserved, and stay.
        [b'_', rest @ ..] if rest.first() != Some(&b'_') => format!("key{name}"),
        _ => name,
    };
    (!name.bytes().all(|byte| byte == b'_')).then_some(name)
}

fn is_valid(char: char) -> bool {
    char.is_ascii_alphanumeric()
}

fn move_to_end(tokens: &mut Vec<String>, token: &str) {
    tokens.retain(|other| other != token);
    tokens.push(token.to_owned());
}

/// Adds the unit, unless the name already has it.
fn add_unit(tokens: &mut Vec<String>, unit: &str) {
    let (main, per) = match unit.split_once('/') {
        Some((main, per)) => (main.trim(), per.trim()),
        None => (unit.trim(), ""),
    };
    let mut main = clean(plain(main).map_or("", main_unit));
    let mut per = match plain(per).map_or("", per_unit) {
        "" => String::new(),
        per => clean(&format!("per_{per}")),
    };
    let known = |part: &String| tokens.contains(part);
    if known(&main) {
        main.clear();
    }
    // A unit of no valid characters leaves only the underscore.
    per.truncate(per.trim_end_matches('_').len());
    if per == "per" || known(&per) {
        per.clear();
    }
    if !per.is_empty() {
        main.truncate(main.trim_end_matches('_').len());
    }
    tokens.extend([main, per].into_iter().filter(|part| !part.is_empty()));
}

/// Units in braces are annotations, for example `{request}`.
fn plain(unit: &str) -> Option<&str> {
    Some(unit).filter(|unit| !unit.is_empty() && !unit.contains(['{', '}']))
}

/// Replaces invalid characters, several by one underscore, and none at the start.
fn clean(unit: &str) -> String {
    let mut clean = String::new();
    for char in unit.chars() {
        if is_valid(char) || char == ':' {
            clean.push(char);
        } else if !clean.is_empty() && !clean.ends_with('_') {
            clean.push('_');
        }
    }
    clean
}

fn main_unit(unit: &str) -> &str {
    match unit {
        "d" => "days",
        "h" => "hours",
        "min" => "minutes",
        "s" => "seconds",
        "ms" => "milliseconds",
        "us" => "microseconds",
        "ns" => "nanoseconds",
        "By" => "bytes",
        "KiBy" => "kibibytes",
        "MiBy" => "mebibytes",
        "GiBy" => "gibibytes",
        "TiBy" => "tibibytes",
        "KBy" => "kilobytes",
        "MBy" => "megabytes",
        "GBy" => "gigabytes",
        "TBy" => "terabytes",
        "m" => "meters",
        "V" => "volts",
        "A" => "amperes",
        "J" => "joules",
        "W" => "watts",
        "g" => "grams",
        "Cel" => "celsius",
        "Hz" => "hertz",
        "1" => "",
        "%" => "percent",
        other => other,
    }
}

fn per_unit(unit: &str) -> &str {
    match unit {
        "s" => "second",
        "m" => "minute",
        "h" => "hour",
        "d" => "day",
        "w" => "week",
        "mo" => "month",
        "y" => "year",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected names are those of `prometheus/otlptranslator` 1.0.0.
    #[test]
    fn metrics_are_named_as_prometheus_names_them() {
        for (name, unit, kind, expected) in [
            (
                "http.server.duration",
                "ms",
                NameKind::Other,
                "http_server_duration_milliseconds",
            ),
            ("requests", "", NameKind::Counter, "requests_total"),
            (
                "requests.total.count",
                "1",
                NameKind::Counter,
                "requests_count_total",
            ),
            (
                "cpu.utilization",
                "1",
                NameKind::Gauge,
                "cpu_utilization_ratio",
            ),
            ("cpu.utilization", "1", NameKind::Other, "cpu_utilization"),
            (
                "system.io",
                "By/s",
                NameKind::Gauge,
                "system_io_bytes_per_second",
            ),
            ("io_bytes", "By", NameKind::Gauge, "io_bytes"),
            ("queue", "{item}", NameKind::Gauge, "queue"),
            ("queue", "{item}/s", NameKind::Gauge, "queue_per_second"),
            ("hit", "%", NameKind::Gauge, "hit_percent"),
            ("3xx:ok", "", NameKind::Counter, "_3xx:ok_total"),
            ("a..b__c", "", NameKind::Other, "a_b_c"),
            ("speed", "km/h", NameKind::Gauge, "speed_km_per_hour"),
            ("odd", "a b/%%", NameKind::Gauge, "odd_a_b"),
            ("räder", "", NameKind::Gauge, "r_der"),
        ] {
            let found = metric_name(name, unit, kind);
            assert_eq!(found.as_deref(), Some(expected), "{name} {unit}");
        }
        assert_eq!(metric_name("…", "", NameKind::Gauge), None);
        assert_eq!(metric_name("", "", NameKind::Gauge), None);
    }

    #[test]
    fn attributes_are_named_as_prometheus_names_them() {
        for (attribute, expected) in [
            ("http.method", Some("http_method")),
            ("a..b", Some("a__b")),
            ("3d", Some("key_3d")),
            ("_private", Some("key_private")),
            ("__reserved__", Some("__reserved__")),
            ("_", Some("key_")),
            ("..", None),
            ("", None),
        ] {
            assert_eq!(label_name(attribute).as_deref(), expected, "{attribute}");
        }
    }
}
