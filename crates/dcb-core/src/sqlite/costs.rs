//! The cost of conditions and reads on a log of a million events, counted in steps of SQLite's virtual
//! machine because times would vary.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::{Connection, Row, StatementStatus};
use uuid::Uuid;

use super::first_match::first_match;
use super::insert::Inserter;
use super::keys::keys;
use super::row::is_event_match;
use super::scan::{FIRST_CHUNK, scan};
use super::snapshot::{Snapshot, with_snapshot};
use super::statements::{
    EVENTS_AT, EVENTS_IN_RANGE, EVENTS_OF_KEY, FIRST_KEY, INSERT_TAG, POSITIONS_OF_KEY,
    SET_INDEX_END, TYPE_AND_TAGS,
};
use super::unindexed_keys::UnindexedKeys;
use super::{Config, schema, session};
use crate::bounds::Bounds;
use crate::projection::LastEvents;
use crate::{Bookmark, Event, Position, Query, ReadOptions};

const EVENTS: i64 = 1_000_000;
/// A tag of every tenth event. These events have all three types.
const HOT: &str = "hot";
/// A tag of ten events without [`HOT`].
const COLD: &str = "cold:7";
/// A tag of ten events that all carry [`HOT`].
const COLD_AND_HOT: &str = "cold:10";
/// The type of every third event.
const TYPE: &str = "Type1";
const NEVER: &str = "Never";
const UNKNOWN: &str = "username:new";

/// The log, locked for one test at a time, because all tests read the same statement counters.
fn million() -> MutexGuard<'static, Connection> {
    static MILLION: OnceLock<Mutex<Connection>> = OnceLock::new();
    let million = MILLION.get_or_init(|| Mutex::new(load()));
    million.lock().unwrap_or_else(PoisonError::into_inner)
}

fn load() -> Connection {
    let config = Config::memory();
    let connection = session::writer(&config).unwrap();
    schema::ensure(&connection, &config).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    let mut inserter = Inserter::new(&connection).unwrap();
    let mut insert_tag = connection.prepare(INSERT_TAG).unwrap();
    for number in 1..=EVENTS {
        let event = Event::builder(format!("Type{}", number % 3))
            // The factor shuffles the values. It is prime, so each value still occurs ten times.
            .tag_pair("cold", number * 7919 % 100_000)
            .tags((number % 10 == 0).then_some(HOT));
        let event = event.build().unwrap();
        let id = Uuid::from_u128(number.unsigned_abs().into());
        inserter.insert(&event, id, number, 0).unwrap();
        for key in keys(event.event_type(), event.tags()) {
            insert_tag.execute((key, number)).unwrap();
        }
    }
    connection.execute(SET_INDEX_END, [EVENTS]).unwrap();
    drop((inserter, insert_tag));
    connection.execute_batch("COMMIT").unwrap();
    connection
}

/// The steps of all search statements since the last call.
fn steps(connection: &Connection) -> i32 {
    let both = [&EVENTS_IN_RANGE, &EVENTS_OF_KEY, &POSITIONS_OF_KEY]
        .map(|sql| [sql.towards(false), sql.towards(true)]);
    both.into_iter()
        .flatten()
        .chain([EVENTS_AT, FIRST_KEY, TYPE_AND_TAGS])
        .map(|sql| {
            let statement = connection.prepare_cached(sql).unwrap();
            statement.reset_status(StatementStatus::VmStep)
        })
        .sum()
}

fn query(types: &[&str], tags: &[&str]) -> Query {
    let query = Query::builder()
        .event_types(types.iter().copied())
        .tags(tags.iter().copied());
    query.build().unwrap()
}

struct Condition {
    name: &'static str,
    query: Query,
    after: i64,
    conflicts: bool,
}

fn find(connection: &Connection, query: &Query, after: i64) -> Option<i64> {
    let unindexed_keys = UnindexedKeys::default();
    with_snapshot(connection, &unindexed_keys, |snapshot| {
        first_match(snapshot, query, after)
    })
    .unwrap()
}

/// The steps of a condition, without those that prepare its statements.
fn cost(connection: &Connection, condition: &Condition) -> i32 {
    let find = || find(connection, &condition.query, condition.after);
    assert_eq!(find().is_some(), condition.conflicts, "{}", condition.name);
    steps(connection);
    find();
    steps(connection)
}

fn conditions() -> Vec<Condition> {
    // Values of `after`: close to the end of the log, close to its start, and 0 for no `after`.
    let (near, far, none) = (EVENTS - 1000, 1000, 0);
    let condition = |name, (types, tags): (&[&str], &[&str]), after, conflicts| Condition {
        name,
        query: query(types, tags),
        after,
        conflicts,
    };
    vec![
        condition("hot tag, rejected", (&[TYPE], &[HOT]), none, true),
        condition("hot tag, rejected, far", (&[TYPE], &[HOT]), far, true),
        condition("hot tag, rejected, near", (&[TYPE], &[HOT]), near, true),
        condition("hot tag, no type, rejected", (&[], &[HOT]), none, true),
        condition("hot tag, no type, near", (&[], &[HOT]), near, true),
        condition("hot tag, other type", (&[NEVER], &[HOT]), none, false),
        condition("hot tag, other type, near", (&[NEVER], &[HOT]), near, false),
        condition("hot and cold", (&[TYPE], &[HOT, COLD]), none, false),
        condition("hot and cold, far", (&[TYPE], &[HOT, COLD]), far, false),
        condition("hot and cold, no type", (&[], &[HOT, COLD]), none, false),
        condition(
            "hot and cold, rejected",
            (&[TYPE], &[HOT, COLD_AND_HOT]),
            none,
            true,
        ),
        condition("hot and unknown", (&[TYPE], &[HOT, UNKNOWN]), none, false),
        condition("unknown, no type", (&[], &[UNKNOWN]), none, false),
        condition("type, rejected, near", (&[TYPE], &[]), near, true),
        condition("other type", (&[NEVER], &[]), none, false),
    ]
}

/// The measure is a search for two cold tags, which visits at most ten events. No other condition
/// may take more than twice as many steps.
#[test]
fn condition_on_hot_tag_costs_no_more_than_on_cold_tag() {
    let million = million();
    let cold = Condition {
        name: "cold tags",
        query: query(&[], &[COLD, COLD_AND_HOT]),
        after: 0,
        conflicts: false,
    };
    let most = 2 * cost(&million, &cold);
    let mut excessive = Vec::new();
    for condition in conditions() {
        let steps = cost(&million, &condition);
        println!("{:28} {steps:5} steps, at most {most}", condition.name);
        if steps > most {
            excessive.push((condition.name, steps));
        }
    }
    assert!(excessive.is_empty(), "{excessive:?}, at most {most}");
}

#[test]
fn condition_after_head_reads_nothing() {
    let million = million();
    for query in [Query::all(), query(&[], &[HOT]), query(&[TYPE], &[])] {
        steps(&million);
        assert_eq!(find(&million, &query, EVENTS), None);
        assert_eq!(steps(&million), 0);
    }
}

/// The keys of the newest events are in memory.
#[test]
fn condition_on_the_newest_events_searches_only_memory() {
    let million = million();
    million.execute_batch("BEGIN").unwrap();
    let event = Event::builder(TYPE).tags([COLD, UNKNOWN]).build().unwrap();
    let mut inserter = Inserter::new(&million).unwrap();
    inserter.insert(&event, Uuid::nil(), EVENTS + 1, 0).unwrap();
    let find = |tags: &[&str]| {
        let snapshot = Snapshot::for_writer(&million, &UnindexedKeys::default()).unwrap();
        steps(&million);
        let found = first_match(&snapshot, &query(&[], tags), EVENTS).unwrap();
        (found, steps(&million) > 0)
    };
    assert_eq!(find(&[HOT]), (None, false));
    assert_eq!(find(&[COLD, HOT]), (None, false));
    // The match is checked in the event itself.
    assert_eq!(find(&[COLD, UNKNOWN]), (Some(EVENTS + 1), true));
    drop(inserter);
    million.execute_batch("ROLLBACK").unwrap();
}

fn queries() -> Vec<(&'static str, Query)> {
    vec![
        ("all", Query::all()),
        ("type", query(&[TYPE], &[])),
        ("hot tag", query(&[TYPE], &[HOT])),
        ("hot tag, no type", query(&[], &[HOT])),
        ("hot tag, two types", query(&["Type0", TYPE], &[HOT])),
        ("hot and cold", query(&[], &[HOT, COLD_AND_HOT])),
        (
            "two items",
            query(&[TYPE], &[HOT]).or(query(&["Type2"], &[])),
        ),
    ]
}

/// Reads `limit` events and returns the steps.
fn read(connection: &Connection, query: &Query, options: ReadOptions, limit: usize) -> i32 {
    let once = || {
        let mut found = 0;
        let visit = |row: &Row<'_>| {
            let matches = query.is_all() || is_event_match(query, row)?;
            found += usize::from(matches);
            Ok(match found < limit {
                true => ControlFlow::Continue(matches),
                false => ControlFlow::Break(()),
            })
        };
        let bounds = Bounds::of(options);
        with_snapshot(connection, &UnindexedKeys::default(), |snapshot| {
            scan(snapshot, query, bounds, visit)
        })
        .unwrap();
        assert!(found > 0, "{query:?} {options:?}");
    };
    once();
    steps(connection);
    once();
    steps(connection)
}

#[test]
fn limited_read_stops_at_its_limit() {
    const LIMIT: usize = 10;
    /// 70 steps for each event, and 6 steps for each position that is fetched ahead: 4 positions
    /// for each of the three types.
    const STEPS: i32 = 70 * LIMIT as i32 + 3 * 4 * 6;
    let million = million();
    let middle = Position::new(EVENTS.unsigned_abs() / 2).map(Bookmark::from);
    let sides = [
        ReadOptions::new(),
        ReadOptions::new().after(middle),
        ReadOptions::new().backwards(),
        ReadOptions::new().after(middle).backwards(),
    ];
    for (name, query) in queries() {
        for options in sides {
            let steps = read(&million, &query, options, LIMIT);
            println!("{name}, {options:?}: {steps} steps");
            assert!(steps <= STEPS, "{name}, {options:?}: {steps} steps");
        }
    }
}

/// The reads of a projection of the last event only.
#[test]
fn last_event_is_found_from_the_end() {
    /// As in [`limited_read_stops_at_its_limit`], for one event. A query of several keys also looks
    /// up a first chunk of positions, with 25 steps for each.
    const STEPS: i32 = 70 + 3 * 4 * 6 + 25 * FIRST_CHUNK as i32;
    let million = million();
    let middle = Position::new(EVENTS.unsigned_abs() / 2).map(Bookmark::from);
    for (name, query) in queries() {
        for head in [None, Some(middle)] {
            let options = LastEvents::new(None, head).options();
            let steps = read(&million, &query, options, 1);
            println!("{name}, {options:?}: {steps} steps");
            assert!(steps <= STEPS, "{name}, {options:?}: {steps} steps");
        }
    }
}

#[test]
fn long_read_visits_each_event_once() {
    const LIMIT: usize = 2000;
    const STEPS_PER_EVENT: i32 = 40;
    let million = million();
    for (name, query) in queries() {
        let steps = read(&million, &query, ReadOptions::new(), LIMIT);
        println!("{name}: {steps} steps");
        let most = STEPS_PER_EVENT * LIMIT as i32;
        assert!(steps <= most, "{name}: {steps} steps");
    }
}
