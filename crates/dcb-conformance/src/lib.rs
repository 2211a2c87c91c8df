#![doc = include_str!("../README.md")]

mod append;
mod bookmark;
pub mod checker;
mod closing;
mod command;
mod condition;
mod conditions;
mod content;
mod decision;
mod fixture;
mod held;
pub mod history;
mod idempotency;
mod kept;
mod lanes;
mod limits;
mod order_of_checks;
mod projection;
mod query;
mod races;
mod read;
mod stream;
mod subscription;
mod tracking;
mod validation;
mod warm;

use std::sync::Arc;

use conformance_suite::Case;
use dcb_core::EventStore;

#[doc(hidden)]
pub use conformance_suite;

/// The numbers of concurrent callers that the cases about concurrency run with.
pub const CALLERS: [usize; 3] = [2, 10, 100];

/// The only list of the cases. Calls the macro named in brackets with the tokens in parentheses,
/// followed by the list.
// A macro, because the list becomes both the test functions of a backend and the value of `cases`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_case {
    ([$($then:tt)+], ($($with:tt)*)) => {
        $($then)+! {
            ($($with)*)
            append {
                empty_log_has_no_head
                positions_are_dense_from_one
                events_of_one_append_get_consecutive_positions
                refused_append_writes_nothing_and_uses_no_position
                missing_ids_are_generated_and_given_ids_kept
                recorded_at_has_microsecond_precision
                append_of_maximum_size_is_stored
            }
            bookmark {
                reads_return_bookmarks_that_are_accepted
                condition_on_another_event_is_refused
                first_replaced_position_is_told
                repeated_append_ignores_bookmarks
                read_after_another_event_is_refused
                subscription_after_another_event_ends_with_error
                state_of_another_log_is_not_decided_on
            }
            condition {
                condition_without_after_conflicts_with_any_match
                after_is_exclusive
                after_up_to_the_head_is_accepted
                after_beyond_the_head_is_refused
                conflict_returns_first_match_past_after
                query_all_is_a_valid_condition
                each_query_item_is_enforced
                maximum_number_of_query_items_is_enforced
                item_matches_type_and_tags_in_one_event
                condition_ignores_events_of_its_append
                fail_if_exists_builders_match_type_and_tag
            }
            conditions {
                all_conditions_must_hold
                each_condition_has_its_own_after
                states_read_at_different_times_are_protected
                condition_without_after_stands_beside_others
                conditions_on_same_query_may_differ_in_after
                first_event_of_the_log_decides_which_condition_failed
                every_item_of_every_condition_is_enforced
                after_beyond_head_is_refused_in_any_condition
                repeated_append_ignores_all_conditions
                tracking_is_checked_before_all_conditions
                conditions_ignore_events_of_their_append
                number_and_items_of_conditions_are_limited
                decision_from_two_reads_reads_what_changed
                refusal_from_old_states_is_decided_again
                decision_from_old_states_names_the_earliest_event
            }
            content {
                tags_with_special_characters_round_trip
                tag_matches_only_itself
                pairs_of_tags_with_special_characters_are_distinguished
                types_with_special_characters_round_trip
                json_round_trips_byte_for_byte
                arbitrary_bytes_round_trip
                metadata_keeps_order_and_characters
                correlation_and_causation_ids_are_metadata
                duplicate_tags_are_stored_once
                event_with_200_tags_is_stored
                time_of_another_log_is_kept
            }
            idempotency {
                repeated_append_returns_first_positions
                repeated_append_ignores_condition
                repeated_append_ignores_tracking
                repeated_append_compares_tags_as_sets
                repeated_append_may_have_another_trace
                known_id_with_other_content_is_refused
                partly_stored_append_is_refused
                stored_append_with_other_content_names_the_id
                stored_events_are_recognized_in_any_grouping
                id_repeated_within_an_append_is_refused
                dropped_append_is_stored_once_when_repeated
            }
            order_of_checks {
                size_is_checked_before_repeated_ids
                repeated_ids_are_checked_before_stored_ids
                stored_ids_are_checked_before_after_beyond_head
                after_beyond_head_is_checked_before_tracking
                tracking_is_checked_before_condition
            }
            query {
                types_of_an_item_are_alternatives
                all_tags_of_an_item_are_required
                items_are_alternatives
                query_all_matches_every_event
                count_and_exists_agree_with_events
                extent_agrees_with_events
            }
            read {
                options_combine_in_every_way
                dense_and_sparse_matches_read_alike
                read_without_match_returns_head
                limit_of_zero_returns_only_the_head
                after_beyond_the_head_is_refused
                from_beyond_the_head_returns_no_events
                extreme_positions_and_limits_are_accepted
                pages_by_position_cover_the_log
            }
            stream {
                stream_yields_the_events_of_a_query
                stream_reads_one_snapshot
                stream_can_be_dropped_early
            }
            command {
                command_is_stored_with_its_events
                command_content_round_trips
                refused_append_stores_no_command
                repeated_append_stores_command_once
                pages_cover_the_command_log
                too_large_command_is_refused
                executor_retries_after_conflict
                executor_stores_nothing_after_refusal
                concurrent_commands_are_stored_with_their_events
            }
            subscription {
                subscription_yields_existing_then_new_events
                subscription_starts_after_a_position
                subscription_from_head_has_only_new_events
                subscription_after_beyond_head_ends_with_error
                batches_report_progress
                next_batch_returns_rest_of_started_batch
                dropped_next_loses_no_event
                subscribers_under_load_get_each_event_once
                wait_for_returns_once_position_is_reached
            }
            projection {
                empty_log_gives_initial_state
                log_without_match_gives_initial_state
                tuple_of_projectors_is_one_projection
                vector_of_projectors_is_one_projection
                empty_list_of_projections_is_refused
                condition_conflicts_with_events_of_the_projection
                condition_ignores_unrelated_events
                project_stream_yields_each_state
                project_stream_starts_after_a_position
                project_at_sees_the_log_of_that_time
                project_at_yields_each_state_up_to_the_position
                refused_projection_leaks_no_permit
                dropped_projection_leaks_no_permit
                failed_projection_leaks_no_permit
                handlers_see_only_their_types_and_tags
                unreadable_data_ends_a_projection
                last_only_sees_the_last_event
                last_only_is_protected_like_the_whole_query
                last_only_starts_after_a_position
                last_events_and_whole_queries_share_a_snapshot
            }
            decision {
                decision_appends_under_condition_of_its_state
                decision_is_retried_after_conflict
                decision_stops_after_max_attempts
                decision_ignores_unrelated_events
                decision_without_events_appends_nothing
                refusal_is_returned_to_the_caller
            }
            lanes {
                crowd_on_one_boundary_is_served
                crowd_of_commands_is_served
                decisions_with_commands_share_a_lane
                every_seat_is_taken_and_none_twice
                first_callers_get_the_seats
                decisions_on_different_boundaries_do_not_wait
                slow_decision_is_overtaken
                held_decision_delays_no_other
                dropped_decision_leaves_the_line
                panicking_decision_harms_no_other
                invalid_decision_harms_no_other
                positions_are_those_of_the_own_events
                another_writer_is_seen
                refusal_sees_what_was_appended_before_its_call
                large_boundary_is_decided_on
                turns_exclude_each_other
                idle_store_has_no_lanes
                random_decisions_agree_with_replayed_log
            }
            limits {
                greatest_limits_of_writes_are_accepted
                greatest_limits_of_reads_are_accepted
            }
            warm {
                second_decision_reads_nothing
                warm_decision_sees_another_writer
                warm_refusal_sees_another_writer
                warm_refusal_reads_once
                repeated_decision_proves_nothing
                refused_decision_leaves_nothing_behind
                forgotten_boundary_is_read_again
                random_decisions_beside_other_writers_agree_with_replayed_log
            }
            kept {
                kept_state_sees_every_event
                large_boundary_is_read_once
                other_folds_have_their_own_state
                forgotten_state_is_read_again
                crowd_on_a_kept_state_is_served
            }
            tracking {
                source_without_tracking_has_no_position
                tracking_is_stored_with_its_append
                tracking_must_strictly_increase
                sources_are_tracked_independently
                refused_append_tracks_nothing
                smallest_and_largest_tracking_are_accepted
                one_of_many_callers_tracks_a_position
            }
            validation {
                empty_append_is_refused
                append_of_over_1000_events_is_refused
                event_over_one_mebibyte_is_refused
                append_over_64_mebibytes_is_refused
                invalid_values_are_refused_before_the_store
            }
            held {
                held_call_delays_no_other
                many_held_calls_delay_no_other
                held_call_of_a_batch_delays_no_other
                held_stream_delays_no_other
                append_held_by_select_delays_no_other
                dropped_calls_delay_no_other
                close_ends_while_calls_are_held
            }
            closing {
                closed_store_refuses_every_call
                close_can_be_repeated
            }
            races {
                one_of_many_callers_wins_a_condition
                open_stream_hides_no_conflict
                condition_with_two_items_conflicts_on_either
                decision_over_two_entities_is_protected
                paging_reader_misses_no_event
                decisions_agree_with_replayed_log
                disjoint_boundaries_never_conflict
                concurrent_projection_reads_one_snapshot
                numbers_from_the_last_event_have_no_gaps
                concurrent_retries_of_one_append_store_it_once
            }
        }
    };
}

/// Defines one test per case. The factory is an `async` closure, or the name of an `async`
/// function, that takes no arguments and returns the store.
#[macro_export]
macro_rules! suite {
    ($factory:expr) => {
        fn run_case(name: &str) {
            $crate::run(name, $factory);
        }

        $crate::for_each_case!([$crate::conformance_suite::tests], (run_case));

        mod history {
            #[allow(unused_imports)]
            use super::*;

            #[test]
            fn random_histories_agree_with_the_memory_store() {
                $crate::history::run_all($factory);
            }
        }
    };
}

/// All cases, in the order of the list. Each takes a store whose log is empty.
// In an `Arc`, because cases with concurrent callers share the store between tasks.
pub fn cases<S: EventStore + 'static>() -> Vec<Case<Arc<S>>> {
    for_each_case!([conformance_suite::cases], ())
}

/// Runs the case of this name, on a store that `factory` opens, in a new runtime.
///
/// # Panics
/// If the store fails the case, or if no case has this name.
pub fn run<S: EventStore + 'static>(name: &str, factory: impl AsyncFnOnce() -> S) {
    conformance_suite::run(cases(), name, async || Arc::new(factory().await));
}
