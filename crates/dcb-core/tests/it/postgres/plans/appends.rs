//! The cost of a condition.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use dcb_core::{
    Append, AppendCondition, Bookmark, Error, EventStore as _, Position, Query, QueryItem,
};

use super::large_log::{COLD, COLD_AND_HOT, Cost, HOT, LargeLog, TYPE, event_count};
use crate::support::events::{at, tagged};

/// The number of appends per case. At first the writer reads the head. After some appends without
/// contention it becomes optimistic, so both statements are measured.
const REPEATS: i64 = 60;

/// A case may cost twice the cost of a similar condition on a cold tag, plus this per append.
const SLACK: Cost = Cost {
    rows: 48,
    blocks: 64,
};

struct Case {
    name: &'static str,
    query: Query,
    after: After,
    conflicts: bool,
}

fn case(
    name: &'static str,
    (types, tags): (&[&str], &[&str]),
    after: After,
    conflicts: bool,
) -> Case {
    let query = Query::builder()
        .event_types(types.iter().copied())
        .tags(tags.iter().copied())
        .build();
    Case {
        name,
        query: query.expect("the query is valid"),
        after,
        conflicts,
    }
}

/// The start of the range that a condition covers.
#[derive(Clone, Copy)]
enum After {
    /// The whole log.
    Start,
    /// Most of the log.
    Far,
    /// The last 1,000 of the loaded events, including some with the hot tag.
    Near,
    /// None of the loaded events.
    Loaded,
}

impl After {
    fn position(self) -> Option<Position> {
        match self {
            Self::Start => None,
            Self::Far => Some(at(1000)),
            Self::Near => Some(at(event_count() - 1000)),
            Self::Loaded => Some(at(event_count())),
        }
    }
}

/// True if each item of the query has a type.
fn has_types(case: &Case) -> bool {
    let has_type = |item: &QueryItem| !item.types().is_empty();
    case.query.items().iter().all(has_type)
}

/// A similar condition on a cold tag. It has a type if the case has one, and it conflicts if the
/// case conflicts.
fn cold_like(case: &Case) -> Case {
    let types: &[&str] = if has_types(case) { &[TYPE] } else { &[] };
    let after = if case.conflicts {
        After::Start
    } else {
        After::Loaded
    };
    self::case("cold", (types, &[COLD]), after, case.conflicts)
}

fn cases() -> Vec<Case> {
    let (never, unknown) = ("Never", "username:new");
    vec![
        case("cold tag", (&[TYPE], &[COLD]), After::Loaded, false),
        case("cold tag, rejected", (&[TYPE], &[COLD]), After::Start, true),
        case("cold tag, no type", (&[], &[COLD]), After::Loaded, false),
        case("unknown tag", (&[TYPE], &[unknown]), After::Start, false),
        case(
            "unknown tag, no type",
            (&[], &[unknown]),
            After::Start,
            false,
        ),
        case("hot tag", (&[TYPE], &[HOT]), After::Loaded, false),
        case("hot tag, rejected", (&[TYPE], &[HOT]), After::Start, true),
        case(
            "hot tag, rejected, far",
            (&[TYPE], &[HOT]),
            After::Far,
            true,
        ),
        case(
            "hot tag, rejected, near",
            (&[TYPE], &[HOT]),
            After::Near,
            true,
        ),
        case("hot tag, no type", (&[], &[HOT]), After::Loaded, false),
        case(
            "hot tag, no type, rejected",
            (&[], &[HOT]),
            After::Start,
            true,
        ),
        case(
            "hot tag, other type",
            (&[never], &[HOT]),
            After::Start,
            false,
        ),
        case(
            "hot tag, other type, far",
            (&[never], &[HOT]),
            After::Far,
            false,
        ),
        case(
            "hot tag, other type, near",
            (&[never], &[HOT]),
            After::Near,
            false,
        ),
        case("hot and cold", (&[TYPE], &[HOT, COLD]), After::Start, false),
        case(
            "hot and cold, far",
            (&[TYPE], &[HOT, COLD]),
            After::Far,
            false,
        ),
        case(
            "hot and cold, near",
            (&[TYPE], &[HOT, COLD]),
            After::Near,
            false,
        ),
        case(
            "hot and cold, no type",
            (&[], &[HOT, COLD]),
            After::Start,
            false,
        ),
        case(
            "hot and cold, rejected",
            (&[TYPE], &[HOT, COLD_AND_HOT]),
            After::Start,
            true,
        ),
        case(
            "hot and unknown",
            (&[TYPE], &[HOT, unknown]),
            After::Start,
            false,
        ),
        case(
            "hot and unknown, no type",
            (&[], &[HOT, unknown]),
            After::Start,
            false,
        ),
        case("type", (&[TYPE], &[]), After::Loaded, false),
        case("type, rejected", (&[TYPE], &[]), After::Start, true),
        case("type, rejected, near", (&[TYPE], &[]), After::Near, true),
        case("other type", (&[never], &[]), After::Start, false),
        Case {
            name: "everything, rejected",
            query: Query::all(),
            after: After::Near,
            conflicts: true,
        },
    ]
}

/// The cost of [`REPEATS`] appends under this condition.
async fn cost(log: &LargeLog, condition: Option<AppendCondition>, conflicts: bool) -> Cost {
    log.cost(async |store| {
        for _ in 0..REPEATS {
            let append = Append::new(tagged("appended")).conditions(condition.clone());
            match store.submit(append).await {
                Ok(_) => assert!(!conflicts, "{condition:?} must conflict"),
                Err(Error::Conflict { .. }) => {
                    assert!(conflicts, "{condition:?} must not conflict");
                }
                Err(error) => panic!("{error}"),
            }
        }
    })
    .await
}

/// The cost that the condition adds to the appends.
async fn cost_of_case(log: &LargeLog, case: &Case, alone: Cost) -> Cost {
    let condition = AppendCondition::fail_if(case.query.clone())
        .after(case.after.position().map(Bookmark::from));
    let whole = cost(log, Some(condition), case.conflicts).await;
    // A refused append writes nothing, so all its cost belongs to the condition.
    if case.conflicts { whole } else { whole - alone }
}

/// The cases that read too much.
async fn excessive(log: &LargeLog) -> Vec<String> {
    // The server may count the work before this late, so the lesser of two counts.
    let (first, second) = (cost(log, None, false).await, cost(log, None, false).await);
    let alone = Cost {
        rows: first.rows.min(second.rows),
        blocks: first.blocks.min(second.blocks),
    };
    // Keyed by whether the condition has types and whether it conflicts.
    let mut cold_costs: HashMap<(bool, bool), Cost> = HashMap::new();
    let most = |cold: i64, slack: i64| 2 * cold.max(0) + slack * REPEATS;
    let per_append = |count: i64| count as f64 / REPEATS as f64;
    let mut excessive = Vec::new();
    for case in cases() {
        let hot = cost_of_case(log, &case, alone).await;
        let cold = match cold_costs.entry((has_types(&case), case.conflicts)) {
            Entry::Occupied(cost) => *cost.get(),
            Entry::Vacant(cost) => *cost.insert(cost_of_case(log, &cold_like(&case), alone).await),
        };
        let [rows, blocks, cold_rows, cold_blocks] =
            [hot.rows, hot.blocks, cold.rows, cold.blocks].map(per_append);
        let line = format!(
            "{:26} {rows:8.1} rows ({cold_rows:.1}) {blocks:8.1} blocks ({cold_blocks:.1})",
            case.name
        );
        println!("{line}");
        if hot.rows > most(cold.rows, SLACK.rows) || hot.blocks > most(cold.blocks, SLACK.blocks) {
            excessive.push(line);
        }
    }
    excessive
}

#[tokio::test(flavor = "multi_thread")]
async fn every_condition_costs_about_as_much_as_a_cold_tag() {
    let log = LargeLog::get().await;
    log.forget_statistics().await;
    println!("without statistics, per append (in brackets: a similar condition on a cold tag):");
    let mut excessive_cases = excessive(&log).await;
    log.analyze().await;
    println!("with statistics, per append:");
    excessive_cases.extend(excessive(&log).await);
    assert!(excessive_cases.is_empty(), "{excessive_cases:#?}");
}

/// A scan of a table would read all rows of the log.
#[tokio::test(flavor = "multi_thread")]
async fn lone_append_reads_few_rows() {
    let log = LargeLog::get().await;
    let after_all_events = |tag: &str| {
        let query = Query::builder().event_type(TYPE).tag(tag).build();
        AppendCondition::fail_if(query.unwrap()).after(After::Loaded.position().map(Bookmark::from))
    };
    let unknown = Query::builder().tag("username:new").build().unwrap();
    let conditions = [
        None,
        Some(after_all_events(COLD)),
        Some(after_all_events(HOT)),
        Some(AppendCondition::fail_if(unknown)),
    ];
    for analyzed in [false, true] {
        if analyzed {
            log.analyze().await;
        } else {
            log.forget_statistics().await;
        }
        for condition in &conditions {
            let cost = cost(&log, condition.clone(), false).await;
            println!("{cost:?} for {REPEATS} appends, {condition:?}");
            assert!(cost.rows <= 8 * REPEATS, "{cost:?}, {condition:?}");
            assert!(cost.blocks <= 128 * REPEATS, "{cost:?}, {condition:?}");
        }
    }
}
