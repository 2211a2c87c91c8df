//! The suite finds what is wrong: for each fault of a store at least one case fails.

#[path = "broken_stores/faulty.rs"]
mod faulty;

use std::panic::{AssertUnwindSafe, catch_unwind};

use dcb_core::MemoryStore;
use dcb_core::conformance::{cases, history, run};
use faulty::{Fault, Faulty};

async fn with(fault: Fault) -> Faulty {
    Faulty::new(MemoryStore::new(), fault)
}

fn fails(test: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(test)).is_err()
}

fn finds(case: &str, fault: Fault) -> bool {
    fails(|| run(case, async || with(fault).await))
}

/// How often a race is run that is to find a fault: on a busy machine its callers may happen to come
/// one after the other.
const RACES: usize = 10;

/// Passes where the whole suite finds the fault, and each of the named cases does.
fn assert_found(fault: Fault, by: &[&str]) {
    let found: Vec<&str> = cases::<Faulty>()
        .iter()
        .map(|case| case.name)
        .filter(|name| finds(name, fault))
        .collect();
    println!("{fault:?} is found by {found:#?}");
    for name in by {
        let again = || name.starts_with("races::") && (1..RACES).any(|_| finds(name, fault));
        assert!(
            found.contains(name) || again(),
            "{name} does not find {fault:?}"
        );
    }
}

#[test]
fn without_a_fault_every_case_passes() {
    let failing: Vec<&str> = cases::<Faulty>()
        .iter()
        .map(|case| case.name)
        .filter(|name| finds(name, Fault::None))
        .collect();
    assert_eq!(failing, [""; 0]);
}

#[test]
fn a_store_that_ignores_after_is_found() {
    let by = [
        "condition::after_is_exclusive",
        "races::disjoint_boundaries_never_conflict",
    ];
    assert_found(Fault::IgnoresAfter, &by);
}

#[test]
fn a_store_that_checks_the_first_item_only_is_found() {
    let by = [
        "condition::each_item_is_enforced",
        "condition::many_items_are_enforced",
        "projection::the_condition_protects_what_was_read",
        "races::a_decision_is_protected_for_all_its_entities",
        "races::a_decision_counts_what_it_depends_on",
    ];
    assert_found(Fault::ChecksTheFirstItemOnly, &by);
}

#[test]
fn a_store_that_burns_positions_is_found() {
    let by = [
        "append::a_refused_append_writes_nothing_and_burns_no_position",
        "races::a_decision_counts_what_it_depends_on",
    ];
    assert_found(Fault::BurnsAPositionOnConflict, &by);
}

#[test]
fn a_store_that_checks_before_it_locks_is_found() {
    let by = [
        "races::one_caller_wins_a_condition",
        "races::either_item_of_a_condition_is_enforced",
        "races::a_decision_counts_what_it_depends_on",
    ];
    assert_found(Fault::ChecksBeforeItLocks, &by);
}

#[test]
fn a_store_that_forgets_ids_is_found() {
    let by = [
        "idempotency::the_same_append_again_returns_the_first_positions",
        "races::one_append_sent_many_times_is_stored_once",
    ];
    assert_found(Fault::ForgetsIds, &by);
}

#[test]
fn a_store_that_tidies_json_is_found() {
    assert_found(
        Fault::TidiesJson,
        &["content::json_comes_back_byte_for_byte"],
    );
}

#[test]
fn a_store_that_joins_tags_with_commas_is_found() {
    let by = ["content::tags_of_any_characters_come_back_and_are_found"];
    assert_found(Fault::SplitsTagsAtCommas, &by);
}

#[test]
fn a_store_that_reads_the_head_after_the_events_is_found() {
    let by = [
        "races::readers_by_position_miss_nothing",
        "subscription::every_subscriber_gets_every_event_once_under_load",
    ];
    assert_found(Fault::ReadsTheHeadLater, &by);
}

#[test]
fn a_store_that_takes_beyond_the_head_for_unchanged_is_found() {
    let by = ["condition::after_beyond_the_head_is_refused"];
    assert_found(Fault::TakesBeyondTheHeadForUnchanged, &by);
}

#[test]
fn a_store_that_limits_before_it_reverses_is_found() {
    assert_found(
        Fault::LimitsBeforeItReverses,
        &["read::every_combination_of_options"],
    );
}

#[test]
fn a_store_that_drops_commands_is_found() {
    let by = [
        "command::it_is_kept_with_its_events",
        "command::commands_at_once_are_kept_beside_their_events",
    ];
    assert_found(Fault::DropsCommands, &by);
}

#[test]
fn random_histories_find_the_faults_of_a_single_caller() {
    for fault in [
        Fault::IgnoresAfter,
        Fault::ChecksTheFirstItemOnly,
        Fault::BurnsAPositionOnConflict,
        Fault::ForgetsIds,
        Fault::SplitsTagsAtCommas,
        Fault::TakesBeyondTheHeadForUnchanged,
        Fault::LimitsBeforeItReverses,
    ] {
        let found = fails(|| history::run_all(async || with(fault).await));
        assert!(found, "no history finds {fault:?}");
    }
}
