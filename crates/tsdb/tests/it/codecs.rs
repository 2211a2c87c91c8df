//! Every codec returns values and timestamps bit for bit.

use proptest::prelude::*;
use tsdb::{Db, DbOptions, DuplicatePolicy, Labels, STALE_MARKER, Sample};

/// A double: a random bit pattern, a decimal number, an integer or a special value.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<u64>().prop_map(f64::from_bits),
        4 => (-1_000_000i64..1_000_000, 0i32..6).prop_map(|(digits, decimals)| {
            digits as f64 / 10f64.powi(decimals)
        }),
        1 => Just(-0.0),
        1 => Just(STALE_MARKER),
        1 => prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(f64::NAN)],
        1 => (any::<i64>()).prop_map(|integer| integer as f64),
        1 => any::<f32>().prop_map(f64::from),
    ]
}

/// Runs of values of different kinds.
fn values() -> impl Strategy<Value = Vec<f64>> {
    let runs = prop_oneof![
        prop::collection::vec(value(), 1..300),
        (value(), 1usize..300).prop_map(|(value, count)| vec![value; count]),
        (-1000i64..1000, prop::collection::vec(-100i64..100, 1..300)).prop_map(|(start, steps)| {
            let walk = steps.iter().scan(start, |time, step| {
                *time += step;
                Some(*time as f64 / 100.0)
            });
            walk.collect()
        }),
        prop::collection::vec(0u32..1_000_000, 1..300).prop_map(|steps| {
            let count = steps.iter().scan(0u64, |total, step| {
                *total += u64::from(*step);
                Some(*total as f64)
            });
            count.collect()
        }),
        prop::collection::vec(-1.0f64..1.0, 1..300),
    ];
    prop::collection::vec(runs, 1..6).prop_map(|runs| runs.concat())
}

/// Steps between timestamps: even, nearly even or arbitrary.
fn steps(count: usize) -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        (0u64..100_000).prop_map(move |step| vec![step; count]),
        (0u64..100_000, prop::collection::vec(0u64..50, count))
            .prop_map(|(step, jitter)| jitter.iter().map(|more| step + more).collect()),
        prop::collection::vec(any::<u64>(), count),
        prop::collection::vec(0u32..3, count)
            .prop_map(|shifts| shifts.iter().map(|shift| 1 << (shift * 20)).collect()),
    ]
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    values().prop_flat_map(|values| {
        let steps = steps(values.len());
        (Just(values), any::<i64>(), steps).prop_map(|(values, start, steps)| {
            let times = steps.iter().scan(start, |time, step| {
                *time = time.saturating_add_unsigned(*step);
                Some(*time)
            });
            let pairs = times.zip(values);
            pairs
                .map(|(time, value)| Sample::new(time, value))
                .collect()
        })
    })
}

fn bits(samples: &[Sample]) -> Vec<(i64, u64)> {
    let pair = |sample: &Sample| (sample.timestamp_ms, sample.value.to_bits());
    samples.iter().map(pair).collect()
}

fn read(db: &Db, from_ms: i64, to_ms: i64) -> Vec<Sample> {
    let mut samples = Vec::new();
    for series in db.select(&[], from_ms, to_ms).iter() {
        series.collect_into(&mut samples);
    }
    samples
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn written_samples_read_back_bit_for_bit(samples in samples(), parts in 1usize..5, cut in any::<(prop::sample::Index, prop::sample::Index)>()) {
        let db = Db::new(DbOptions {
            duplicates: DuplicatePolicy::KeepAll,
            ..DbOptions::default()
        });
        let labels = Labels::new("m", [("a", "b")]).unwrap();
        let mut series = db.series(&labels).unwrap();
        for part in samples.chunks(samples.len().div_ceil(parts)) {
            series.append_batch(part).unwrap();
        }
        prop_assert_eq!(bits(&read(&db, i64::MIN, i64::MAX)), bits(&samples));

        let (a, b) = (cut.0.get(&samples).timestamp_ms, cut.1.get(&samples).timestamp_ms);
        let (from_ms, to_ms) = (a.min(b), a.max(b));
        let inside = |sample: &&Sample| (from_ms..=to_ms).contains(&sample.timestamp_ms);
        let expected: Vec<Sample> = samples.iter().filter(inside).copied().collect();
        prop_assert_eq!(bits(&read(&db, from_ms, to_ms)), bits(&expected));
    }
}

/// Keeps a change from making the usual kinds of series compress worse.
#[test]
fn usual_series_compress_below_limit() {
    let size = |value: &dyn Fn(u64) -> f64| {
        let db = Db::new(DbOptions::default());
        let labels = Labels::new("m", [("a", "b")]).unwrap();
        let samples: Vec<Sample> = (0..200 * 2048)
            .map(|index| Sample::new(index as i64 * 10_000, value(index)))
            .collect();
        db.series(&labels).unwrap().append_batch(&samples).unwrap();
        db.stats().sample_bytes as f64 / samples.len() as f64
    };
    let random = |index: u64| (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    let walk = std::cell::Cell::new(0i64);
    let sizes = [
        ("constant", size(&|_| 21.5), 0.2),
        ("counter", size(&|index| (index * 60) as f64), 0.2),
        (
            "decimal walk",
            size(&|index| {
                walk.set(walk.get() + (random(index) >> 20) as i64 % 201 - 100);
                walk.get() as f64 / 100.0
            }),
            1.25,
        ),
        (
            "random doubles",
            size(&|index| random(index) as f64 / 2f64.powi(53)),
            7.3,
        ),
    ];
    for (shape, size, limit) in sizes {
        println!("{shape}: {size:.3} bytes/sample");
        assert!(size < limit, "{shape} takes {size} bytes a sample");
    }
}
