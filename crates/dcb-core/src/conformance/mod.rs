//! The tests that every backend passes: the meaning of [`EventStore`], one case a sentence.
//!
//! A backend gets all of them by one line, which makes a test of each case. The factory makes a
//! store over a fresh, empty log with the default [`Limits`](crate::Limits); it is called at least
//! once a test, inside a multi-threaded tokio runtime.
//!
//! ```
//! # #![allow(dead_code)]
//! dcb_core::conformance_suite!(async || dcb_core::MemoryStore::new());
//! # fn main() {}
//! ```
//!
//! What concerns concurrency runs with each number of callers in [`CALLERS`]. [`history`] compares
//! random histories with those of the memory store, as many as [`effort`] says; [`checker`] makes
//! concurrent decisions and replays the log afterwards. Both can be run on their own, against
//! several processes too.

mod append;
mod callers;
pub mod checker;
mod command;
mod condition;
mod content;
mod decision;
mod fixture;
pub mod history;
mod idempotency;
mod order_of_checks;
mod projection;
mod query;
mod races;
mod random;
mod read;
mod stream;
mod subscription;
mod tracking;
mod validation;

use std::pin::Pin;
use std::sync::Arc;

use crate::EventStore;

/// How many callers at once the cases about concurrency run with.
pub const CALLERS: [usize; 3] = [2, 10, 100];

/// One thing that every store does.
pub struct Case<S> {
    /// Its topic and its name, as in `condition::after_is_exclusive`.
    pub name: &'static str,
    run: fn(Arc<S>) -> Run,
}

type Run = Pin<Box<dyn Future<Output = ()>>>;

impl<S: EventStore + 'static> Case<S> {
    /// Shows it on this store, whose log must be empty.
    ///
    /// # Panics
    /// Where the store does otherwise.
    pub async fn run(&self, store: S) {
        (self.run)(Arc::new(store)).await;
    }
}

/// The one list of the cases: hands it to the macro in brackets, after the tokens in parentheses.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_conformance_case {
    ([$($then:tt)+], ($($with:tt)*)) => {
        $($then)+! {
            ($($with)*)
            append {
                an_empty_log_has_no_head
                positions_are_dense_from_one
                one_append_gets_consecutive_positions_in_order
                a_refused_append_writes_nothing_and_burns_no_position
                ids_are_made_where_absent_and_kept_where_given
                the_time_of_recording_is_kept_in_whole_microseconds
                the_largest_append_is_stored_whole
            }
            condition {
                without_after_any_match_conflicts
                after_is_exclusive
                after_may_be_any_position_up_to_the_head
                after_beyond_the_head_is_refused
                a_conflict_names_the_first_match_past_after
                every_event_is_a_legal_boundary
                each_item_is_enforced
                many_items_are_enforced
                an_item_needs_type_and_tags_in_one_event
                the_events_of_the_append_itself_do_not_count
                the_builders_say_what_they_mean
            }
            content {
                tags_of_any_characters_come_back_and_are_found
                a_tag_matches_only_itself
                tags_of_any_characters_are_told_apart
                types_of_any_characters_come_back_and_are_found
                json_comes_back_byte_for_byte
                data_is_any_bytes
                metadata_keeps_its_order_and_its_characters
                correlation_and_causation_are_metadata
                tags_are_a_set
                an_event_may_have_many_tags
            }
            idempotency {
                the_same_append_again_returns_the_first_positions
                the_condition_is_not_evaluated_again
                tracking_is_not_evaluated_again
                the_same_content_is_told_by_the_stored_form
                an_id_with_other_content_is_refused
                a_batch_stored_in_part_is_refused
                of_a_batch_stored_whole_the_differing_id_is_named
                stored_events_are_found_in_any_grouping
                an_id_twice_in_one_append_is_refused
            }
            order_of_checks {
                size_comes_before_repeated_ids
                repeated_ids_come_before_stored_ones
                stored_ids_come_before_after_beyond_the_head
                after_beyond_the_head_comes_before_tracking
                tracking_comes_before_the_condition
            }
            query {
                types_are_alternatives
                tags_are_all_required
                items_are_alternatives
                all_means_every_event
                count_and_exists_agree_with_the_events
                an_extent_is_that_of_the_events
            }
            read {
                every_combination_of_options
                crowds_are_read_like_stragglers
                the_head_is_told_also_where_nothing_matches
                a_limit_of_zero_reads_the_head_alone
                after_beyond_the_head_is_refused
                from_beyond_the_head_reads_nothing
                extreme_numbers_are_legal
                pages_by_position_make_up_the_log
            }
            stream {
                it_yields_what_a_query_returns
                it_is_one_snapshot
                it_may_be_dropped_on_the_way
            }
            command {
                it_is_kept_with_its_events
                its_content_comes_back
                a_refused_append_leaves_no_command
                an_append_sent_again_keeps_it_once
                pages_make_up_the_log_of_commands
                a_large_command_is_refused
                an_executor_decides_again_after_a_conflict
                an_executor_keeps_nothing_of_what_was_refused
                commands_at_once_are_kept_beside_their_events
            }
            subscription {
                it_yields_what_is_there_then_what_comes
                it_begins_after_a_position
                a_shortened_log_ends_it
                batches_tell_how_far_the_log_was_read
                the_rest_of_a_batch_is_a_batch
                a_dropped_wait_loses_nothing
                every_subscriber_gets_every_event_once_under_load
                a_wait_ends_when_the_position_is_there
            }
            projection {
                an_empty_log_gives_the_initial_state
                nothing_that_matches_gives_the_initial_state
                projectors_share_one_pass
                a_vector_of_projectors_is_one_projection
                the_condition_protects_what_was_read
                the_condition_protects_nothing_else
                the_stream_shows_each_state
                the_stream_begins_after_a_position
                a_refused_projection_leaks_no_permit
                a_projection_dropped_on_the_way_leaks_no_permit
                a_failed_projection_leaks_no_permit
            }
            decision {
                events_are_appended_under_the_condition_of_the_state
                it_is_made_again_after_a_conflict
                it_is_made_as_often_as_allowed
                what_is_not_its_concern_does_not_interrupt_it
                no_events_append_nothing
                a_refusal_is_handed_on
            }
            tracking {
                nothing_is_tracked_at_first
                it_is_stored_by_the_same_commit
                it_must_strictly_increase
                each_source_is_on_its_own
                a_refused_append_tracks_nothing
                its_bounds_are_legal
                one_of_many_callers_processes_a_position
            }
            validation {
                an_append_has_at_least_one_event
                an_append_has_at_most_a_thousand_events
                an_event_has_at_most_a_mebibyte
                an_append_has_at_most_64_mebibytes
                what_the_vocabulary_refuses_never_reaches_a_store
            }
            races {
                one_caller_wins_a_condition
                an_open_reader_hides_nothing
                either_item_of_a_condition_is_enforced
                a_decision_is_protected_for_all_its_entities
                readers_by_position_miss_nothing
                a_decision_counts_what_it_depends_on
                disjoint_boundaries_never_conflict
                a_projection_sees_one_snapshot
                one_append_sent_many_times_is_stored_once
            }
        }
    };
}

/// Makes one test of each case, for the store that the factory makes: an `async` closure, or the
/// name of an `async` function, without arguments.
#[macro_export]
macro_rules! conformance_suite {
    ($factory:expr) => {
        $crate::for_each_conformance_case!([$crate::conformance_tests], ($factory));

        mod history {
            #[allow(unused_imports)]
            use super::*;

            #[test]
            fn random_histories_agree_with_the_memory_store() {
                $crate::conformance::history::run_all($factory);
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    (($factory:expr) $($topic:ident { $($case:ident)* })*) => {
        $(
            mod $topic {
                #[allow(unused_imports)]
                use super::*;

                $(
                    #[test]
                    fn $case() {
                        let name = concat!(stringify!($topic), "::", stringify!($case));
                        $crate::conformance::run(name, $factory);
                    }
                )*
            }
        )*
    };
}

macro_rules! case_list {
    (() $($topic:ident { $($case:ident)* })*) => {
        vec![$($(Case {
            name: concat!(stringify!($topic), "::", stringify!($case)),
            run: |store| Box::pin(async move { $topic::$case(&store).await }),
        }),*),*]
    };
}

/// Every case that needs one store, in the order of the list.
pub fn cases<S: EventStore + 'static>() -> Vec<Case<S>> {
    for_each_conformance_case!([case_list], ())
}

/// Runs the case of this name in a runtime of its own, on a store that `factory` makes there.
///
/// # Panics
/// Where the store fails the case, and where there is no such case.
pub fn run<S: EventStore + 'static>(name: &str, factory: impl AsyncFnOnce() -> S) {
    let case = cases::<S>().into_iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("there is no case {name}"));
    runtime().block_on(async { case.run(factory().await).await });
}

/// `REGISTRAR_EFFORT`, or `default` where it is not set: how often to repeat what only shows with
/// many repetitions.
///
/// # Panics
/// Where it is set to something else than a number.
pub fn effort(default: usize) -> usize {
    match std::env::var("REGISTRAR_EFFORT") {
        Ok(text) => text.parse().expect("REGISTRAR_EFFORT is a number"),
        Err(_) => default,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    // More threads than one even on a machine with one core: the races need them.
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a tokio runtime can be started")
}
