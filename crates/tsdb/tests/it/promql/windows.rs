//! Windows that share samples take sums and resets from facts about the whole series. Each window
//! must have the value that its samples alone give, bit for bit.

use proptest::collection::vec;
use proptest::prelude::*;
use tsdb::promql::{Query, QueryOptions, TimeRange, Value};
use tsdb::{Db, DbOptions, Labels, STALE_MARKER, Sample};

const FUNCTIONS: [&str; 7] = [
    "sum_over_time",
    "avg_over_time",
    "rate",
    "increase",
    "resets",
    "count_over_time",
    "stddev_over_time",
];

/// With a modifier, windows take samples from outside of their range.
const EXTENDED: [&str; 5] = [
    "increase anchored",
    "changes anchored",
    "rate smoothed",
    "delta smoothed",
    "smoothed",
];

/// The samples of a series, and the ranges that a query looks at.
#[derive(Clone, Debug)]
struct Case {
    samples: Vec<Sample>,
    range_s: i64,
    step_s: i64,
}

impl Case {
    fn db(&self) -> Db {
        let db = Db::new(DbOptions::default());
        let labels = Labels::new("x", [("host", "a")]).expect("labels");
        let mut series = db.series(&labels).expect("a handle");
        series.append_batch(&self.samples).expect("samples");
        db
    }

    fn end_ms(&self) -> i64 {
        self.samples.last().map_or(0, |last| last.timestamp_ms)
    }

    /// The answer over a range that begins before the first sample and ends after the last one.
    fn over_range(&self, db: &Db, function: &str) -> Vec<(i64, f64)> {
        let range = TimeRange {
            start_ms: -5_000,
            end_ms: self.end_ms() + 30_000,
            step_ms: self.step_s * 1000,
        };
        match self
            .query(function)
            .range(db, range, &QueryOptions::default())
        {
            Ok(Value::Matrix(series)) => {
                let samples = series.iter().flat_map(|series| &series.samples);
                samples
                    .map(|sample| (sample.timestamp_ms, sample.value))
                    .collect()
            }
            other => panic!("{function} answers {other:?}"),
        }
    }

    /// The answer at a time, whose window shares its samples with no other.
    fn alone(&self, db: &Db, function: &str, time_ms: i64) -> Option<f64> {
        match self
            .query(function)
            .instant(db, time_ms, &QueryOptions::default())
        {
            Ok(Value::Vector(series)) => series.first().map(|series| series.sample.value),
            other => panic!("{function} answers {other:?}"),
        }
    }

    fn query(&self, function: &str) -> Query {
        let range_s = self.range_s;
        let text = match function.split_once(' ') {
            _ if function == "smoothed" => "x smoothed".to_owned(),
            Some((function, modifier)) => format!("{function}(x[{range_s}s] {modifier})"),
            None => format!("{function}(x[{range_s}s])"),
        };
        Query::parse(&text).expect("a query")
    }

    /// The samples in the range that ends at this time.
    fn window(&self, end_ms: i64) -> Vec<Sample> {
        let start_ms = end_ms - self.range_s * 1000;
        let inside = |sample: &&Sample| (start_ms + 1..=end_ms).contains(&sample.timestamp_ms);
        let present = |sample: &&Sample| sample.value.to_bits() != STALE_MARKER.to_bits();
        self.samples
            .iter()
            .filter(inside)
            .filter(present)
            .copied()
            .collect()
    }
}

/// Every step has the value that an instant query has at its time.
fn assert_equal_to_instants(case: &Case, functions: &[&str]) {
    let db = case.db();
    for function in functions {
        let steps = case.over_range(&db, function);
        for (time_ms, value) in steps {
            let alone = case.alone(&db, function, time_ms);
            let same = alone.is_some_and(|alone| same(alone, value));
            assert!(same, "{function} at {time_ms} is {value:?}, not {alone:?}");
        }
    }
}

fn same(one: f64, other: f64) -> bool {
    one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan())
}

/// A series of such values at irregular times.
fn case(value: impl Strategy<Value = f64>) -> impl Strategy<Value = Case> {
    let samples = vec((1..12_i64, value), 1..300);
    (samples, 1..400_i64, 1..70_i64).prop_map(|(samples, range_s, step_s)| {
        let mut time_ms = 0;
        let timed = samples.into_iter().map(|(seconds, value)| {
            time_ms += seconds * 1000;
            Sample::new(time_ms, value)
        });
        Case {
            samples: timed.collect(),
            range_s,
            step_s,
        }
    })
}

/// A counter that is now and then reset.
fn counter() -> impl Strategy<Value = Case> {
    let growth = prop_oneof![9 => (0..1_000_u32).prop_map(Some), 1 => Just(None)];
    let growths = vec(growth, 300);
    (case(Just(0.0)), growths, 1..100_u32).prop_map(|(mut case, growths, unit)| {
        let mut count = 0.0;
        for (sample, growth) in case.samples.iter_mut().zip(growths) {
            count = growth.map_or(0.0, |growth| count + f64::from(growth) / f64::from(unit));
            sample.value = count;
        }
        case
    })
}

/// A value with any mantissa whose exponent lies in this range.
fn of_size(exponents: std::ops::Range<i32>) -> impl Strategy<Value = f64> {
    (1.0..2.0_f64, exponents, any::<bool>()).prop_map(|(mantissa, exponent, negative)| {
        let value = mantissa * 2_f64.powi(exponent);
        if negative { -value } else { value }
    })
}

fn decimal() -> impl Strategy<Value = f64> {
    (-1_000_000..1_000_000_i32, 0..4_i32).prop_map(|(units, decimals)| {
        let value = f64::from(units) / 10_f64.powi(decimals);
        if units == 0 { -value } else { value }
    })
}

fn odd() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => decimal(),
        1 => Just(STALE_MARKER),
        1 => any::<u64>().prop_map(f64::from_bits),
    ]
}

proptest! {
    #[test]
    fn windows_of_counters_equal_instants(case in counter()) {
        assert_equal_to_instants(&case, &FUNCTIONS);
    }

    #[test]
    fn extended_windows_equal_instants(case in prop_oneof![counter(), case(odd())]) {
        assert_equal_to_instants(&case, &EXTENDED);
    }

    #[test]
    fn windows_of_decimals_equal_instants(case in case(decimal())) {
        assert_equal_to_instants(&case, &FUNCTIONS);
    }

    #[test]
    fn windows_of_similar_values_equal_instants(case in case(of_size(-10..10))) {
        assert_equal_to_instants(&case, &FUNCTIONS);
    }

    #[test]
    fn windows_of_values_around_limit_of_exact_sums_equal_instants(
        case in (30..70_i32).prop_flat_map(|width| case(of_size(-width / 2..width / 2))),
    ) {
        assert_equal_to_instants(&case, &FUNCTIONS);
    }

    #[test]
    fn windows_of_extreme_values_equal_instants(
        case in prop_oneof![case(of_size(-1_022..-980)), case(of_size(980..1_023)), case(odd())],
    ) {
        assert_equal_to_instants(&case, &FUNCTIONS);
    }

    #[test]
    fn sums_and_means_are_compensated_sums(
        case in prop_oneof![case(decimal()), case(of_size(-20..20)), case(of_size(-60..60)), counter()],
    ) {
        let db = case.db();
        for (function, divides) in [("sum_over_time", false), ("avg_over_time", true)] {
            for (time_ms, value) in case.over_range(&db, function) {
                let values = case.window(time_ms);
                let divisor = if divides { values.len() as f64 } else { 1.0 };
                let direct = compensated_sum(&values) / divisor;
                prop_assert_eq!(value.to_bits(), direct.to_bits(), "{} at {}", function, time_ms);
            }
        }
    }

    #[test]
    fn resets_are_falls_between_neighbours(case in prop_oneof![counter(), case(odd())]) {
        let db = case.db();
        for (time_ms, value) in case.over_range(&db, "resets") {
            prop_assert_eq!(value, falls(&case.window(time_ms)).count() as f64, "at {}", time_ms);
        }
    }

    #[test]
    fn increases_are_those_of_their_samples(case in prop_oneof![counter(), case(decimal())]) {
        let db = case.db();
        for (time_ms, value) in case.over_range(&db, "increase") {
            let start_ms = time_ms - case.range_s * 1000;
            let direct = increase(&case.window(time_ms), start_ms, time_ms);
            prop_assert_eq!(value.to_bits(), direct.to_bits(), "at {}", time_ms);
        }
    }
}

/// The values that are followed by a lower one.
fn falls(samples: &[Sample]) -> impl Iterator<Item = f64> {
    let pairs = samples.windows(2);
    let falls = pairs.filter(|pair| pair[1].value < pair[0].value);
    falls.map(|pair| pair[0].value)
}

/// `increase` of at least two samples, step by step as in Prometheus.
fn increase(samples: &[Sample], start_ms: i64, end_ms: i64) -> f64 {
    let seconds = |from_ms: i64, to_ms: i64| (to_ms - from_ms) as f64 / 1000.0;
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    let mut difference = last.value - first.value;
    for lost in falls(samples) {
        difference += lost;
    }
    let sampled = seconds(first.timestamp_ms, last.timestamp_ms);
    let distance = sampled / (samples.len() - 1) as f64;
    let mut before = seconds(start_ms, first.timestamp_ms);
    let mut after = seconds(last.timestamp_ms, end_ms);
    if before >= distance * 1.1 {
        before = distance / 2.0;
    }
    if after >= distance * 1.1 {
        after = distance / 2.0;
    }
    if difference > 0.0 && first.value >= 0.0 {
        before = before.min(sampled * (first.value / difference));
    }
    difference * ((sampled + before + after) / sampled)
}

/// The sum by Kahan and Neumaier, as Prometheus defines it.
fn compensated_sum(samples: &[Sample]) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for value in samples.iter().map(|sample| sample.value) {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() {
            (sum - next) + value
        } else {
            (value - next) + sum
        };
        sum = next;
    }
    sum + lost
}

/// With values of such different size, exact sums end at about 8,000 samples.
#[test]
fn window_too_long_for_exact_sums_is_summed_directly() {
    let samples: Vec<Sample> = (0..100_000)
        .map(|second| {
            let size = if second % 2 == 0 { 1e4 } else { 1e-4 };
            Sample::new(second * 1000, size * (1.0 + (second % 977) as f64 / 977.0))
        })
        .collect();
    let case = Case {
        samples,
        range_s: 90_000,
        step_s: 1_000,
    };
    let db = case.db();
    let sums = case.over_range(&db, "sum_over_time");
    for (time_ms, value) in sums.into_iter().step_by(7) {
        let direct = compensated_sum(&case.window(time_ms));
        assert_eq!(value.to_bits(), direct.to_bits(), "at {time_ms}");
    }
}

/// The compensated sum loses the last value, which decides between two neighbours of the exact sum.
#[test]
fn window_whose_exact_sum_differs_has_compensated_sum() {
    let values = [2_f64.powi(53), 1.0, 2_f64.powi(-60)];
    let samples = (1..).zip(values);
    let case = Case {
        samples: samples
            .map(|(second, value)| Sample::new(second * 1000, value))
            .collect(),
        range_s: 60,
        step_s: 1,
    };
    let sums = case.over_range(&case.db(), "sum_over_time");
    let at_end = sums.iter().find(|sum| sum.0 == 3_000).expect("a sum");
    assert_eq!(at_end.1, compensated_sum(&case.samples));
    assert_ne!(at_end.1, 2_f64.powi(53) + 2.0);
}
