//! Parts of a date, in UTC, from Unix seconds.

use super::Elementwise;

const DAY: i64 = 86_400;

/// The function of this name.
pub(super) fn named(name: &str) -> Option<Elementwise> {
    Some(match name {
        "minute" => |time, _| Some(part(time, |seconds| seconds.rem_euclid(3600) / 60)),
        "hour" => |time, _| Some(part(time, |seconds| seconds.rem_euclid(DAY) / 3600)),
        // Sunday has the number 0. Day 0, the first of January 1970, was a Thursday.
        "day_of_week" => |time, _| Some(part(time, |seconds| (days(seconds) + 4).rem_euclid(7))),
        "day_of_month" => |time, _| Some(part(time, |seconds| date(seconds).day)),
        "day_of_year" => |time, _| Some(part(time, day_of_year)),
        "days_in_month" => |time, _| Some(part(time, days_in_month)),
        "month" => |time, _| Some(part(time, |seconds| date(seconds).month)),
        "year" => |time, _| Some(part(time, |seconds| date(seconds).year)),
        _ => return None,
    })
}

/// A part of the date at `time`. NaN if the time is NaN or more than 1e15 seconds from 1970.
fn part(time: f64, part_of: impl Fn(i64) -> i64) -> f64 {
    const FARTHEST: f64 = 1e15;
    if time.abs() <= FARTHEST {
        // As in Prometheus, a fraction is cut off, even before 1970.
        part_of(time as i64) as f64
    } else {
        f64::NAN
    }
}

struct Date {
    year: i64,
    month: i64,
    day: i64,
}

fn days(seconds: i64) -> i64 {
    seconds.div_euclid(DAY)
}

/// The Gregorian date. Years begin in March here, so that a leap day is the last of its year, and
/// are counted in eras of 400 years, which are all 146,097 days long.
fn date(seconds: i64) -> Date {
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let day = days(seconds) + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Counted from March, each group of five months has 153 days.
    let month = (5 * day + 2) / 153;
    let first_of_month = (153 * month + 2) / 5;
    let january_or_later = month >= 10;
    Date {
        year: era * 400 + year + i64::from(january_or_later),
        month: if january_or_later {
            month - 9
        } else {
            month + 3
        },
        day: day - first_of_month + 1,
    }
}

fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

fn days_in_month(seconds: i64) -> i64 {
    let Date { year, month, .. } = date(seconds);
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn day_of_year(seconds: i64) -> i64 {
    let Date { year, month, day } = date(seconds);
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap_day = i64::from(month > 2 && is_leap(year));
    BEFORE[month as usize - 1] + day + leap_day
}
