//! Numbers as the pages print them.

/// With thousands separators, rounded to a whole number: `12,346`.
pub(crate) fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let sign = if value < 0.0 && digits != "0" {
        "-"
    } else {
        ""
    };
    let mut grouped = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    sign.to_owned() + &grouped
}

/// At least three digits, with thousands separators: `0.0123`, `1.23`, `12.3`, `1,234`.
pub(crate) fn significant(value: f64) -> String {
    // Zero has no magnitude.
    if value.abs() >= 99.95 || value == 0.0 {
        return whole(value);
    }
    let magnitude = value.abs().log10().floor() as i32;
    // Nine decimals are enough for nanoseconds in seconds.
    let decimals = (2 - magnitude).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

/// With two decimals and thousands separators: `1,950.63`.
pub(crate) fn hundredths(value: f64) -> String {
    let rounded = (value.abs() * 100.0).round() as u64;
    let sign = if value < 0.0 { "-" } else { "" };
    format!(
        "{sign}{}.{:02}",
        whole((rounded / 100) as f64),
        rounded % 100
    )
}

/// Nanoseconds in the unit with the fewest digits: `12.3 µs`.
pub(crate) fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        // From 999.5 on, rounding to three digits would print "1,000" of the smaller unit.
        below if below < 999.5 => (below, "ns"),
        below if below < 999.5e3 => (below / 1e3, "µs"),
        below if below < 999.5e6 => (below / 1e6, "ms"),
        longer => (longer / 1e9, "s"),
    };
    format!("{} {unit}", significant(value))
}

/// Bytes in the unit with the fewest digits, in steps of 1,024: `1.9 KB`.
pub(crate) fn bytes(bytes: f64) -> String {
    match bytes.abs() {
        below if below < 1024.0 => format!("{} B", whole(bytes)),
        below if below < 1024.0 * 1024.0 => format!("{} KB", significant(bytes / 1024.0)),
        _ => format!("{} MB", significant(bytes / (1024.0 * 1024.0))),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, duration, hundredths, significant, whole};

    #[test]
    fn units_keep_numbers_short() {
        let printed = [12.3, 1_690.0, 45_987_000.0, 2.5e9].map(duration);
        assert_eq!(printed, ["12.3 ns", "1.69 µs", "46.0 ms", "2.50 s"]);
        let printed = [699.0, 14_643.0, 99_160_162.0].map(bytes);
        assert_eq!(printed, ["699 B", "14.3 KB", "94.6 MB"]);
    }

    #[test]
    fn thousands_are_separated() {
        let printed = [0.0, 999.4, 999.5, 1_234_567.0, -1_500.0].map(whole);
        assert_eq!(printed, ["0", "999", "1,000", "1,234,567", "-1,500"]);
    }

    #[test]
    fn small_numbers_keep_three_digits() {
        let printed = [0.012_34, 1.0, 12.34, 99.96, 1234.5].map(significant);
        assert_eq!(printed, ["0.0123", "1.00", "12.3", "100", "1,234"]);
    }

    #[test]
    fn two_decimals_are_always_printed() {
        assert_eq!(hundredths(1_950.625), "1,950.63");
        assert_eq!(hundredths(1.999), "2.00");
    }
}
