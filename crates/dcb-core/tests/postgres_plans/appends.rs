//! The price of a condition.

use dcb_core::{Append, AppendCondition, Error, EventStore as _, Query, QueryItem};

use crate::million::{COLD, COLD_AND_HOT, Cost, EVENTS, HOT, Million, TYPE};
use crate::support::events::{at, tagged};

/// How often each append is repeated: some by a writer that asks where the log ends, and more by one
/// that was not disturbed for a while.
const REPEATS: i64 = 60;

/// What a condition may read beyond twice what one on a cold tag reads that is like it.
const SLACK: Cost = Cost {
    rows: 48,
    blocks: 64,
};

struct Case {
    name: &'static str,
    query: Query,
    after: Option<u64>,
    conflicts: bool,
}

fn case(
    name: &'static str,
    (types, tags): (&[&str], &[&str]),
    after: Option<u64>,
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

/// Behind everything that was loaded.
const BEHIND: Option<u64> = Some(EVENTS);
/// Some matches of the hot tag follow.
const NEAR: Option<u64> = Some(EVENTS - 1000);
const FAR: Option<u64> = Some(1000);

/// The condition on a cold tag that is like this one: with a type or without, rejected or not.
fn cold_like(case: &Case) -> Case {
    let has_type = |item: &QueryItem| !item.types().is_empty();
    let types: &[&str] = match case.query.items().iter().all(has_type) {
        true => &[TYPE],
        false => &[],
    };
    let after = if case.conflicts { None } else { BEHIND };
    self::case("cold", (types, &[COLD]), after, case.conflicts)
}

fn cases() -> Vec<Case> {
    let (never, unknown) = ("Never", "username:new");
    vec![
        case("cold tag", (&[TYPE], &[COLD]), BEHIND, false),
        case("cold tag, rejected", (&[TYPE], &[COLD]), None, true),
        case("cold tag, no type", (&[], &[COLD]), BEHIND, false),
        case("unknown tag", (&[TYPE], &[unknown]), None, false),
        case("unknown tag, no type", (&[], &[unknown]), None, false),
        case("hot tag", (&[TYPE], &[HOT]), BEHIND, false),
        case("hot tag, rejected", (&[TYPE], &[HOT]), None, true),
        case("hot tag, rejected, far", (&[TYPE], &[HOT]), FAR, true),
        case("hot tag, rejected, near", (&[TYPE], &[HOT]), NEAR, true),
        case("hot tag, no type", (&[], &[HOT]), BEHIND, false),
        case("hot tag, no type, rejected", (&[], &[HOT]), None, true),
        case("hot tag, other type", (&[never], &[HOT]), None, false),
        case("hot tag, other type, far", (&[never], &[HOT]), FAR, false),
        case("hot tag, other type, near", (&[never], &[HOT]), NEAR, false),
        case("hot and cold", (&[TYPE], &[HOT, COLD]), None, false),
        case("hot and cold, far", (&[TYPE], &[HOT, COLD]), FAR, false),
        case("hot and cold, near", (&[TYPE], &[HOT, COLD]), NEAR, false),
        case("hot and cold, no type", (&[], &[HOT, COLD]), None, false),
        case(
            "hot and cold, met",
            (&[TYPE], &[HOT, COLD_AND_HOT]),
            None,
            true,
        ),
        case("hot and unknown", (&[TYPE], &[HOT, unknown]), None, false),
        case(
            "hot and unknown, no type",
            (&[], &[HOT, unknown]),
            None,
            false,
        ),
        case("type", (&[TYPE], &[]), BEHIND, false),
        case("type, rejected", (&[TYPE], &[]), None, true),
        case("type, rejected, near", (&[TYPE], &[]), NEAR, true),
        case("other type", (&[never], &[]), None, false),
        Case {
            name: "everything, rejected",
            query: Query::all(),
            after: NEAR,
            conflicts: true,
        },
    ]
}

/// The cost of so many appends with this condition.
async fn cost(million: &Million, condition: Option<AppendCondition>, conflicts: bool) -> Cost {
    million
        .cost(async |store| {
            for _ in 0..REPEATS {
                let append = Append {
                    condition: condition.clone(),
                    ..Append::new(tagged("appended"))
                };
                match store.submit(append).await {
                    Ok(_) => assert!(!conflicts, "{condition:?} met nothing"),
                    Err(Error::Conflict { .. }) => {
                        assert!(conflicts, "{condition:?} met something");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        })
        .await
}

/// What each append costs more under the condition than without one.
async fn cost_of_case(million: &Million, case: &Case, alone: Cost) -> Cost {
    let condition = AppendCondition::fail_if(case.query.clone()).after(case.after.map(at));
    let whole = cost(million, Some(condition), case.conflicts).await;
    // What is rejected is not written.
    if case.conflicts { whole } else { whole - alone }
}

/// The conditions that read too much.
async fn excessive(million: &Million) -> Vec<String> {
    let alone = cost(million, None, false).await;
    let most = |cold: i64, slack: i64| 2 * cold.max(0) + slack * REPEATS;
    let per_append = |count: i64| count as f64 / REPEATS as f64;
    let mut excessive = Vec::new();
    for case in cases() {
        let own = cost_of_case(million, &case, alone).await;
        let cold = cost_of_case(million, &cold_like(&case), alone).await;
        let [rows, blocks, cold_rows, cold_blocks] =
            [own.rows, own.blocks, cold.rows, cold.blocks].map(per_append);
        let line = format!(
            "{:26} {rows:8.1} rows ({cold_rows:.1}) {blocks:8.1} blocks ({cold_blocks:.1})",
            case.name
        );
        println!("{line}");
        if own.rows > most(cold.rows, SLACK.rows) || own.blocks > most(cold.blocks, SLACK.blocks) {
            excessive.push(line);
        }
    }
    excessive
}

#[tokio::test(flavor = "multi_thread")]
async fn every_condition_reads_as_little_as_one_on_a_cold_tag() {
    let million = Million::get().await;
    million.forget_statistics().await;
    println!("without statistics, for each append (in brackets: a cold tag like it):");
    let mut excessive_cases = excessive(&million).await;
    million.analyze().await;
    println!("with statistics, for each append:");
    excessive_cases.extend(excessive(&million).await);
    assert!(excessive_cases.is_empty(), "{excessive_cases:#?}");
}

/// Without statistics and with them: a plan that walks through a table reads a million rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_lone_append_reads_a_handful_of_rows() {
    let million = Million::get().await;
    let behind = |tag: &str| {
        let query = Query::builder().event_type(TYPE).tag(tag).build();
        AppendCondition::fail_if(query.unwrap()).after(at(EVENTS))
    };
    let unknown = Query::builder().tag("username:new").build().unwrap();
    let conditions = [
        None,
        Some(behind(COLD)),
        Some(behind(HOT)),
        Some(AppendCondition::fail_if(unknown)),
    ];
    for analyzed in [false, true] {
        if analyzed {
            million.analyze().await;
        } else {
            million.forget_statistics().await;
        }
        for condition in &conditions {
            let cost = cost(&million, condition.clone(), false).await;
            println!("{cost:?} for {REPEATS} appends, {condition:?}");
            assert!(cost.rows <= 8 * REPEATS, "{cost:?}, {condition:?}");
            assert!(cost.blocks <= 64 * REPEATS, "{cost:?}, {condition:?}");
        }
    }
}
