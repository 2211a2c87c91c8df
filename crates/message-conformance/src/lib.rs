#![doc = include_str!("../README.md")]

mod category;
mod checkpoints;
mod closing;
mod content;
mod correlation;
mod fixture;
mod groups;
mod held;
pub mod history;
mod idempotency;
mod importing;
mod limits;
mod listing;
mod model;
mod name_table;
mod named_streams;
mod names;
mod places;
mod races;
mod retention;
mod stream;
mod write;
mod write_streams;

use std::ops::Deref;
use std::sync::Arc;

use conformance_suite::Case;
use message_store::MessageStore;

#[doc(hidden)]
pub use conformance_suite;

pub use model::Model;
pub use name_table::{NAMES, NameParts};

/// How a backend preserves JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Json {
    /// Byte for byte.
    Bytes,
    /// As an equal value, with numbers of any size intact. The order of keys, white space and all
    /// but the last of repeated keys may be lost. The backend refuses `\u0000`, numbers of more than
    /// 131,072 digits before or 16,383 digits after the decimal point, and exponents that stand for
    /// more zeros than a message may have bytes.
    Values,
}

/// A store under test.
#[derive(Debug)]
pub struct Subject<S> {
    store: Arc<S>,
    json: Json,
}

impl<S> Deref for Subject<S> {
    type Target = Arc<S>;

    fn deref(&self) -> &Arc<S> {
        &self.store
    }
}

/// Calls the macro in brackets with the tokens in parentheses, followed by the list of all cases.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_case {
    ([$($then:tt)+], ($($with:tt)*)) => {
        $($then)+! {
            ($($with)*)
            write {
                stream_positions_are_dense_from_zero
                global_positions_increase_over_all_streams
                batch_gets_consecutive_positions_in_order
                write_expecting_any_version_succeeds
                write_expecting_no_stream_needs_absent_stream
                write_expecting_exact_version_needs_last_position
                wrong_version_error_has_expected_and_actual
                refused_write_writes_nothing
                empty_batch_is_refused
                absent_ids_are_generated_and_given_ids_kept
                time_is_write_time_in_whole_microseconds
                batch_of_thousand_is_stored_whole
            }
            write_streams {
                several_streams_are_written_together
                one_wrong_version_refuses_all_streams
                repeated_stream_is_refused
                write_without_streams_is_refused
            }
            idempotency {
                repeated_message_returns_first_position
                id_is_checked_before_expected_version
                repeated_content_is_compared_as_json
                repeated_message_may_have_another_trace
                repeated_id_with_other_content_conflicts
                repeated_id_in_other_stream_conflicts
                repeated_batch_returns_first_positions
                partly_stored_batch_conflicts
                duplicate_id_in_one_write_conflicts
                repeated_write_to_several_streams_returns_first_positions
                dropped_write_is_stored_once_when_repeated
            }
            stream {
                absent_stream_has_no_messages
                read_begins_at_position_inclusive
                read_ends_at_batch_size
                read_without_batch_size_returns_all
                extreme_numbers_are_accepted
                last_message_is_found_by_type
                version_is_last_position
            }
            category {
                category_has_only_messages_of_its_streams
                category_is_ordered_by_global_position
                read_begins_at_global_position_inclusive
                empty_category_is_all_messages
                head_is_last_global_position
                pages_add_up_to_category
                extreme_numbers_are_accepted
            }
            correlation {
                correlation_category_is_compared_exactly
                metadata_without_correlation_is_left_out
                all_messages_are_filtered_by_correlation
                correlation_key_with_escapes_is_recognized
                last_of_repeated_correlation_keys_counts
            }
            groups {
                each_stream_has_exactly_one_member
                streams_with_same_cardinal_id_have_same_member
                member_hash_equals_message_db
                batch_size_counts_messages_of_member
            }
            content {
                json_round_trips
                integers_of_any_size_round_trip
                large_payloads_round_trip
                text_of_any_characters_round_trips
                absent_and_null_metadata_round_trip
                escaped_nul_is_kept_or_refused
                numbers_with_large_exponents_are_kept_or_refused
                numbers_with_too_many_digits_are_kept_or_refused
            }
            names {
                names_of_any_characters_stay_distinct
                types_of_any_characters_round_trip
                longest_names_are_stored_and_longer_ones_refused
            }
            named_streams {
                stream_with_any_name_is_continued
                category_has_its_streams_with_and_without_id
                every_stream_has_one_group_member
                every_stream_is_listed_with_its_category
                every_stream_is_truncated_and_expires_with_its_category
                every_stream_is_exported_and_imported
                stored_stream_with_refused_name_is_usable
            }
            listing {
                empty_store_lists_nothing
                streams_are_paged_by_name
                prefix_is_not_pattern
                categories_are_counted
                store_is_counted
            }
            retention {
                stream_is_truncated_before_position
                truncation_keeps_last_message
                write_after_truncation_continues_stream
                old_messages_expire
                expiry_leaves_no_gap
                expiry_affects_only_its_category
                extreme_times_are_accepted
            }
            importing {
                import_keeps_positions
                import_skips_stored_messages
                import_that_does_not_continue_is_refused
                imported_stream_begins_at_any_position
                write_after_import_continues_after_head
                import_at_maximum_position_is_refused
            }
            checkpoints {
                new_consumer_has_no_checkpoint
                each_consumer_has_its_own_checkpoint
                checkpoint_only_increases
                checkpoint_keeps_message_id
                deleted_checkpoint_begins_again
                invalid_consumer_name_is_refused
            }
            places {
                read_begins_after_bookmark
                head_is_last_message
                subscription_from_head_has_only_new_messages
                replaced_message_is_noticed_by_every_read
                place_beyond_head_is_noticed_by_every_read
                plain_position_is_not_checked
                deleted_message_counts_as_there
                subscription_out_of_place_ends
                subscription_from_checkpoint_continues
            }
            limits {
                message_above_4_mebibytes_is_refused
                write_above_10_000_messages_is_refused
                write_above_64_mebibytes_is_refused
                greatest_limits_of_calls_are_accepted
            }
            races {
                one_of_concurrent_writers_wins_version
                concurrent_writers_without_version_all_succeed
                paging_readers_miss_no_message
                concurrent_repeated_write_is_stored_once
                concurrent_writes_to_several_streams_do_not_deadlock
                dropped_write_is_whole_or_absent
                write_sends_notification
            }
            held {
                held_call_delays_no_other
                many_held_calls_delay_no_other
                held_call_of_a_batch_delays_no_other
                write_held_by_select_delays_no_other
                dropped_calls_delay_no_other
                close_ends_while_calls_are_held
            }
            closing {
                closed_store_refuses_every_call
                close_can_be_repeated
            }
        }
    };
}

/// Defines a test for each case, and one that runs random histories. The first argument is the
/// factory: an `async` closure or the name of an `async` function, without parameters. The second
/// is the [`Json`] of the backend.
#[macro_export]
macro_rules! suite {
    ($factory:expr, $json:expr) => {
        fn run_case(name: &str) {
            $crate::run(name, $json, $factory);
        }

        $crate::for_each_case!([$crate::conformance_suite::tests], (run_case));

        mod history {
            #[allow(unused_imports)]
            use super::*;

            #[test]
            fn random_histories_match_model() {
                $crate::history::run_all($json, $factory);
            }
        }
    };
}

fn cases<S: MessageStore + 'static>() -> Vec<Case<Subject<S>>> {
    for_each_case!([conformance_suite::cases], ())
}

/// The names of all cases, as in `write::refused_write_writes_nothing`.
pub fn case_names() -> impl Iterator<Item = &'static str> {
    cases::<Model>().into_iter().map(|case| case.name)
}

/// Runs the case with this name in a new runtime, on a store that `factory` creates there.
///
/// # Panics
/// If the store fails the case, or if no case has this name.
pub fn run<S: MessageStore + 'static>(name: &str, json: Json, factory: impl AsyncFnOnce() -> S) {
    conformance_suite::run(cases(), name, async || {
        // Cases that race share the store between tasks.
        let store = Arc::new(factory().await);
        Subject { store, json }
    });
}
