//! The conformance suite finds faults: for each fault of a store, certain cases fail.

mod faulty;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::faulty::{Fault, Faulty};
use dcb_conformance::{cases, history, run};
use dcb_core::MemoryStore;

async fn with(fault: Fault) -> Faulty {
    Faulty::new(MemoryStore::new(), fault)
}

fn fails(test: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(test)).is_err()
}

fn finds(case: &str, fault: Fault) -> bool {
    fails(|| run(case, async || with(fault).await))
}

/// Attempts for a race to find a fault. On a busy machine its callers may happen to run one after the
/// other.
const RACES: usize = 10;

/// Asserts that each of the named cases fails on a store with this fault.
fn assert_found(fault: Fault, by: &[&str]) {
    for name in by {
        let attempts = if name.starts_with("races::") {
            RACES
        } else {
            1
        };
        assert!(
            (0..attempts).any(|_| finds(name, fault)),
            "{name} does not find {fault:?}"
        );
    }
}

#[test]
fn suite_passes_on_a_store_without_fault() {
    let failing: Vec<&str> = cases::<Faulty>()
        .iter()
        .map(|case| case.name)
        .filter(|name| finds(name, Fault::None))
        .collect();
    assert_eq!(failing, [""; 0]);
}

#[test]
fn suite_finds_a_store_that_ignores_after() {
    let by = [
        "condition::after_is_exclusive",
        "races::disjoint_boundaries_never_conflict",
    ];
    assert_found(Fault::IgnoresAfter, &by);
}

#[test]
fn suite_finds_a_store_that_checks_only_the_first_item() {
    let by = [
        "condition::each_query_item_is_enforced",
        "condition::maximum_number_of_query_items_is_enforced",
        "projection::condition_conflicts_with_events_of_the_projection",
        "races::decision_over_two_entities_is_protected",
        "races::decisions_agree_with_replayed_log",
    ];
    assert_found(Fault::ChecksOnlyTheFirstItem, &by);
}

#[test]
fn suite_finds_a_store_that_checks_only_the_first_condition() {
    let by = [
        "conditions::all_conditions_must_hold",
        "conditions::states_read_at_different_times_are_protected",
        "races::decisions_agree_with_replayed_log",
    ];
    assert_found(Fault::ChecksOnlyTheFirstCondition, &by);
}

#[test]
fn suite_finds_a_store_that_takes_the_last_after_for_all_conditions() {
    let by = [
        "conditions::each_condition_has_its_own_after",
        "conditions::states_read_at_different_times_are_protected",
        "races::decisions_agree_with_replayed_log",
    ];
    assert_found(Fault::TakesTheLastAfterForAll, &by);
}

#[test]
fn suite_finds_a_store_that_names_the_wrong_condition() {
    let by = [
        "conditions::all_conditions_must_hold",
        "conditions::decision_from_two_reads_reads_what_changed",
    ];
    assert_found(Fault::NamesTheWrongCondition, &by);
}

#[test]
fn suite_finds_a_store_that_uses_a_position_on_conflict() {
    let by = [
        "append::refused_append_writes_nothing_and_uses_no_position",
        "races::decisions_agree_with_replayed_log",
    ];
    assert_found(Fault::UsesAPositionOnConflict, &by);
}

#[test]
fn suite_finds_a_store_that_checks_before_locking() {
    let by = [
        "races::one_of_many_callers_wins_a_condition",
        "races::condition_with_two_items_conflicts_on_either",
        "races::decisions_agree_with_replayed_log",
    ];
    assert_found(Fault::ChecksBeforeLocking, &by);
}

#[test]
fn suite_finds_a_store_that_forgets_ids() {
    let by = [
        "idempotency::repeated_append_returns_first_positions",
        "races::concurrent_retries_of_one_append_store_it_once",
    ];
    assert_found(Fault::ForgetsIds, &by);
}

#[test]
fn suite_finds_a_store_that_reformats_json() {
    assert_found(
        Fault::ReformatsJson,
        &["content::json_round_trips_byte_for_byte"],
    );
}

#[test]
fn suite_finds_a_store_that_joins_tags_with_commas() {
    let by = ["content::tags_with_special_characters_round_trip"];
    assert_found(Fault::SplitsTagsAtCommas, &by);
}

#[test]
fn suite_finds_a_store_that_reads_the_head_after_the_events() {
    let by = [
        "races::paging_reader_misses_no_event",
        "subscription::subscribers_under_load_get_each_event_once",
    ];
    assert_found(Fault::ReadsTheHeadLater, &by);
}

#[test]
fn suite_finds_a_store_that_assigns_positions_before_the_commit() {
    let by = [
        "races::paging_reader_misses_no_event",
        "subscription::subscribers_under_load_get_each_event_once",
    ];
    assert_found(Fault::AssignsPositionsBeforeTheCommit, &by);
}

#[test]
fn suite_finds_a_store_that_accepts_after_beyond_the_head() {
    let by = ["condition::after_beyond_the_head_is_refused"];
    assert_found(Fault::AcceptsAfterBeyondTheHead, &by);
}

#[test]
fn suite_finds_a_store_that_limits_before_reversing() {
    assert_found(
        Fault::LimitsBeforeReversing,
        &["read::options_combine_in_every_way"],
    );
}

#[test]
fn suite_finds_a_store_that_drops_commands() {
    let by = [
        "command::command_is_stored_with_its_events",
        "command::concurrent_commands_are_stored_with_their_events",
    ];
    assert_found(Fault::DropsCommands, &by);
}

#[test]
fn suite_finds_a_store_that_holds_a_lock_while_not_polled() {
    let by = [
        "held::held_call_delays_no_other",
        "held::many_held_calls_delay_no_other",
        "held::append_held_by_select_delays_no_other",
    ];
    assert_found(Fault::HoldsALockWhileNotPolled, &by);
}

#[test]
fn random_histories_find_single_caller_faults() {
    for fault in [
        Fault::IgnoresAfter,
        Fault::ChecksOnlyTheFirstItem,
        Fault::ChecksOnlyTheFirstCondition,
        Fault::TakesTheLastAfterForAll,
        Fault::NamesTheWrongCondition,
        Fault::UsesAPositionOnConflict,
        Fault::ForgetsIds,
        Fault::SplitsTagsAtCommas,
        Fault::AcceptsAfterBeyondTheHead,
        Fault::LimitsBeforeReversing,
    ] {
        let found = fails(|| history::run_all(async || with(fault).await));
        assert!(found, "no history finds {fault:?}");
    }
}
