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

/// Three digits at least, thousands separated: `0.0123`, `1.23`, `12.3`, `1,234`.
pub(crate) fn significant(value: f64) -> String {
    if value.abs() >= 99.95 || value == 0.0 {
        return whole(value);
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

/// With two decimals, thousands separated: `1,950.63`.
pub(crate) fn hundredths(value: f64) -> String {
    let rounded = (value.abs() * 100.0).round() as u64;
    let sign = if value < 0.0 { "-" } else { "" };
    format!(
        "{sign}{}.{:02}",
        whole((rounded / 100) as f64),
        rounded % 100
    )
}

#[cfg(test)]
mod tests {
    use super::{hundredths, significant, whole};

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
    fn hundredths_are_always_printed() {
        assert_eq!(hundredths(1_950.625), "1,950.63");
        assert_eq!(hundredths(1.999), "2.00");
    }
}
