//! Aggregates, compared with a computation from all samples.

use std::num::NonZeroU64;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tsdb::{Aggregate, Db, DbOptions, Labels, STALE_MARKER, Sample};

/// The aggregate, computed from all samples.
fn expected(aggregate: Aggregate, samples: &[Sample]) -> Option<f64> {
    let numbers: Vec<Sample> = samples.iter().filter(|s| !s.is_stale()).copied().collect();
    let values: Vec<f64> = numbers.iter().map(|sample| sample.value).collect();
    let (first, last) = (*values.first()?, *values.last()?);
    let count = values.len() as f64;
    let sum: f64 = values.iter().sum();
    let increase = || {
        let pairs = values.windows(2);
        pairs
            .map(|pair| {
                if pair[1] < pair[0] {
                    pair[1]
                } else {
                    pair[1] - pair[0]
                }
            })
            .sum::<f64>()
    };
    let elapsed_ms = numbers.last()?.timestamp_ms - numbers.first()?.timestamp_ms;
    Some(match aggregate {
        Aggregate::Sum => sum,
        Aggregate::Avg => sum / count,
        Aggregate::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
        Aggregate::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Aggregate::Count => count,
        Aggregate::First => first,
        Aggregate::Last => last,
        Aggregate::StdDev => {
            let squares: f64 = values.iter().map(|v| (v - sum / count).powi(2)).sum();
            (squares / count).sqrt()
        }
        Aggregate::Increase => increase(),
        Aggregate::Rate if elapsed_ms > 0 => increase() / (elapsed_ms as f64 / 1000.0),
        Aggregate::Delta if values.len() > 1 => last - first,
        Aggregate::Quantile(share) => {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let rank = share * (count - 1.0);
            let (lower, upper) = (sorted[rank as usize], sorted[rank.ceil() as usize]);
            lower + (upper - lower) * rank.fract()
        }
        _ => return None,
    })
}

const ALL: [Aggregate; 13] = [
    Aggregate::Sum,
    Aggregate::Avg,
    Aggregate::Min,
    Aggregate::Max,
    Aggregate::Count,
    Aggregate::First,
    Aggregate::Last,
    Aggregate::StdDev,
    Aggregate::Increase,
    Aggregate::Rate,
    Aggregate::Delta,
    Aggregate::Quantile(0.5),
    Aggregate::Quantile(0.95),
];

fn assert_close(found: Option<f64>, expected: Option<f64>, what: &str) {
    let close = match (found, expected) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
        (a, b) => a == b,
    };
    assert!(close, "{what}: {found:?}, expected {expected:?}");
}

/// Three full blocks, an open block and a head, with gaps, stale markers and counter resets.
fn series(random: &mut StdRng) -> Vec<Sample> {
    let (mut time, mut value) = (random.random_range(-100_000..100_000), 0.0);
    let stale = random.random_bool(0.5);
    let uneven = [1, 3, 100][random.random_range(0..3)];
    let mut sample = |_| {
        time += match random.random_range(0..500) {
            0 => 1_000_000,
            step if step < uneven => random.random_range(1..2000),
            _ => 1000,
        };
        value += random.random_range(0..100) as f64 / 10.0;
        if random.random_range(0..300) == 0 {
            value = 0.0;
        }
        match stale && random.random_range(0..200) == 0 {
            true => Sample::new(time, STALE_MARKER),
            false => Sample::new(time, value),
        }
    };
    (0..3 * 2048 + 700).map(&mut sample).collect()
}

#[test]
fn aggregates_match_computation_from_samples() {
    let seed = rand::rng().random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..10 {
        let samples = series(&mut random);
        let db = Db::new(DbOptions::default());
        let labels = Labels::new("m", [("a", "b")]).unwrap();
        db.series(&labels).unwrap().append_batch(&samples).unwrap();
        for _ in 0..10 {
            let (a, b) = (
                random.random_range(0..samples.len()),
                random.random_range(0..samples.len()),
            );
            let part = &samples[a.min(b)..=a.max(b)];
            let (from_ms, to_ms) = (part[0].timestamp_ms, part[part.len() - 1].timestamp_ms);
            let selection = db.select(&[], from_ms, to_ms);
            let series = selection.iter().next().unwrap();
            let longest = [3_000, 30_000, 1_000_000][random.random_range(0..3)];
            let step: u64 = random.random_range(1..longest);
            for aggregate in ALL {
                let what = format!("{aggregate:?} from {from_ms} to {to_ms}");
                assert_close(
                    series.aggregate(aggregate),
                    expected(aggregate, part),
                    &what,
                );
                let spans = series.downsample(NonZeroU64::new(step).unwrap(), aggregate);
                let start =
                    |sample: &Sample| sample.timestamp_ms.div_euclid(step as i64) * step as i64;
                let mut slow = part
                    .chunk_by(|a, b| start(a) == start(b))
                    .filter_map(|span| Some((start(&span[0]), expected(aggregate, span)?)));
                for span in &spans {
                    let (time, value) = slow.next().expect("no more spans than expected");
                    assert_eq!(span.timestamp_ms, time, "{what} by {step}");
                    assert_close(Some(span.value), Some(value), &what);
                }
                assert_eq!(slow.next(), None, "{what} by {step}");
            }
        }
    }
}

#[test]
fn grouping_combines_series_by_labels() {
    let db = Db::new(DbOptions::default());
    for (host, zone, value) in [("a", "x", 1.0), ("b", "x", 3.0), ("c", "y", 10.0)] {
        let labels = Labels::new("m", [("host", host), ("zone", zone)]).unwrap();
        for time in 0..120 {
            db.append(&labels, Sample::new(time * 1000, value)).unwrap();
        }
    }
    let selection = db.select(&[], 0, i64::MAX);
    let groups = selection.group_by(&["zone"]);
    let sums: Vec<_> = groups
        .iter()
        .map(|group| {
            let sum = group.aggregate(Aggregate::Avg, Aggregate::Sum);
            (group.labels().get("zone").unwrap().to_owned(), sum.unwrap())
        })
        .collect();
    assert_eq!(sums, [("x".to_owned(), 4.0), ("y".to_owned(), 10.0)]);

    let minute = NonZeroU64::new(60_000).unwrap();
    let all = selection.group_by(&[]);
    let most = all[0].downsample(minute, Aggregate::Sum, Aggregate::Max);
    assert_eq!(most, [Sample::new(0, 600.0), Sample::new(60_000, 600.0)]);
}

#[test]
fn downsampling_at_ends_of_time_keeps_every_sample() {
    let db = Db::new(DbOptions::default());
    let labels = Labels::new("m", [("a", "b")]).unwrap();
    for time in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX] {
        db.append(&labels, Sample::new(time, 1.0)).unwrap();
    }
    let selection = db.select(&[], i64::MIN, i64::MAX);
    let series = selection.iter().next().unwrap();
    let counts = series.downsample(NonZeroU64::new(1000).unwrap(), Aggregate::Count);
    let counts: Vec<f64> = counts.iter().map(|sample| sample.value).collect();
    assert_eq!(counts, [2.0, 1.0, 1.0, 2.0]);
    let all = series.downsample(NonZeroU64::MAX, Aggregate::Count);
    assert_eq!(all.iter().map(|sample| sample.value).sum::<f64>(), 6.0);
}

fn aggregate_values(values: &[f64], aggregate: Aggregate) -> Option<f64> {
    let db = Db::new(DbOptions::default());
    let labels = Labels::new("m", [("a", "b")]).unwrap();
    for (time, value) in (0..).zip(values) {
        db.append(&labels, Sample::new(time, *value)).unwrap();
    }
    let selection = db.select(&[], i64::MIN, i64::MAX);
    selection.iter().next().unwrap().aggregate(aggregate)
}

/// The square of these numbers is infinite.
#[test]
fn stddev_of_large_numbers_does_not_overflow() {
    let deviation = aggregate_values(&[1e200, 1e200, 1e200], Aggregate::StdDev);
    assert_eq!(deviation, Some(0.0));
    let deviation = aggregate_values(&[-1e153, 1e153], Aggregate::StdDev);
    assert_close(deviation, Some(1e153), "two numbers");
}

/// As in PromQL, NaN sorts before all numbers.
#[test]
fn quantile_treats_nan_as_least() {
    let values = [3.0, f64::NAN, 1.0, -f64::NAN, 2.0];
    for (share, expected) in [(0.5, 1.0), (0.75, 2.0), (1.0, 3.0)] {
        let quantile = aggregate_values(&values, Aggregate::Quantile(share));
        assert_eq!(quantile, Some(expected), "{share}");
    }
    let least = aggregate_values(&values, Aggregate::Quantile(0.25));
    assert!(least.is_some_and(f64::is_nan));
}
