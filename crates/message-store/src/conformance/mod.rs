//! The tests that every backend passes: the meaning of [`MessageStore`], one case a sentence.
//!
//! A backend gets all of them by one line, which makes a test of each case. The factory makes an
//! empty store with the default [`Limits`](crate::Limits); it is called at least once a test,
//! inside a multi-threaded tokio runtime. [`Json`] is the one thing in which backends may differ.
//!
//! ```
//! # #![allow(dead_code)]
//! use message_store::conformance::{Json, Model};
//!
//! message_store::conformance_suite!(async || Model::new(), Json::Bytes);
//! # fn main() {}
//! ```

mod category;
mod checkpoints;
mod closing;
mod content;
mod correlation;
mod fixture;
mod groups;
pub mod history;
mod idempotency;
mod importing;
mod limits;
mod listing;
mod model;
mod names;
mod races;
mod random;
mod retention;
mod stream;
mod write;
mod write_streams;

use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use crate::MessageStore;

pub use model::Model;

/// How a backend gives JSON back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Json {
    /// Byte for byte as it was written.
    Bytes,
    /// As the same value, with numbers of any size whole: the order of keys, white space and all
    /// but the last of repeated keys may be lost. Refused are `\u0000`, and exponents that stand for
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

/// One thing that every store does.
struct Case<S> {
    name: &'static str,
    run: fn(Subject<S>) -> Run,
}

type Run = Pin<Box<dyn Future<Output = ()>>>;

/// The one list of the cases: hands it to the macro in brackets, after the tokens in parentheses.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_message_store_case {
    ([$($then:tt)+], ($($with:tt)*)) => {
        $($then)+! {
            ($($with)*)
            write {
                positions_of_a_stream_are_dense_from_zero
                global_positions_increase_over_all_streams
                a_batch_gets_consecutive_positions_in_order
                any_version_is_written_to
                no_stream_means_that_there_is_none
                an_exact_version_must_be_the_last_position
                a_conflict_tells_expected_and_actual
                a_refused_write_writes_nothing
                a_batch_needs_a_message
                ids_are_made_where_absent_and_kept_where_given
                the_time_is_that_of_the_write_in_whole_microseconds
                a_batch_of_a_thousand_is_stored_whole
            }
            write_streams {
                several_streams_are_written_at_once
                one_wrong_version_refuses_all
                a_stream_may_be_there_once
                there_is_at_least_one_stream
            }
            idempotency {
                a_message_written_again_gets_its_first_place
                ids_come_before_the_expected_version
                content_is_compared_as_json
                other_content_is_a_conflict
                another_stream_is_a_conflict
                a_batch_written_again_gets_its_first_places
                a_batch_of_which_some_are_stored_is_a_conflict
                an_id_twice_in_a_write_is_a_conflict
                several_streams_written_again_get_their_first_places
            }
            stream {
                a_stream_that_is_not_there_has_no_messages
                reads_begin_at_a_position_inclusive
                reads_end_at_the_batch_size
                all_means_all
                extreme_numbers_are_legal
                the_last_message_may_be_asked_by_type
                the_version_is_the_last_position
            }
            category {
                a_category_has_the_messages_of_its_streams_alone
                messages_come_by_global_position
                reads_begin_at_a_global_position_inclusive
                the_empty_category_is_all_messages
                the_head_is_the_last_global_position
                pages_make_up_the_category
                extreme_numbers_are_legal
            }
            correlation {
                the_category_of_the_correlation_is_compared_exactly
                what_is_not_a_correlation_is_left_out
                all_messages_may_be_asked_by_correlation
                the_key_may_be_written_with_escapes
                of_repeated_keys_the_last_counts
            }
            groups {
                each_stream_has_exactly_one_reader
                streams_of_one_cardinal_id_have_the_same_reader
                the_hash_is_that_of_message_db
                the_batch_size_counts_what_the_member_reads
            }
            content {
                json_comes_back
                integers_of_any_size_survive
                large_payloads_come_back
                text_of_any_characters_comes_back
                metadata_may_be_absent_or_null
                an_escaped_nul_is_kept_or_refused
                what_is_written_can_be_read
            }
            names {
                names_of_any_characters_stay_apart
                types_of_any_characters_come_back
                long_names_are_stored_and_longer_ones_refused
            }
            listing {
                an_empty_store_lists_nothing
                streams_are_paged_by_name
                a_prefix_is_no_pattern
                categories_are_counted
                the_whole_is_counted
            }
            retention {
                a_stream_is_truncated_before_a_position
                the_last_message_stays
                a_truncated_stream_goes_on
                what_is_old_expires
                what_is_left_of_a_stream_has_no_gap
                one_category_expires_alone
                extreme_times_are_legal
            }
            importing {
                messages_keep_their_places
                what_is_stored_is_skipped
                what_does_not_continue_is_refused
                a_stream_may_begin_anywhere
                writes_go_on_after_the_head
                the_last_position_of_all_is_refused
            }
            checkpoints {
                there_is_none_at_first
                each_consumer_has_its_own
                they_only_increase
                a_consumer_may_begin_again
                a_consumer_has_a_name
            }
            limits {
                a_message_has_at_most_4_mebibytes
                a_write_has_at_most_10_000_messages
                a_write_has_at_most_64_mebibytes
            }
            races {
                one_writer_of_many_wins_a_version
                writers_without_a_version_all_succeed
                readers_that_page_miss_nothing
                one_write_sent_many_times_is_stored_once
                writes_to_several_streams_never_block_each_other
                a_dropped_write_is_whole_or_absent
                a_change_is_hinted_at
            }
            closing {
                a_closed_store_answers_nothing
                it_may_be_closed_twice
            }
        }
    };
}

/// Makes one test of each case, for the store that the factory makes: an `async` closure, or the
/// name of an `async` function, without arguments. Then how it gives JSON back.
#[macro_export]
macro_rules! conformance_suite {
    ($factory:expr, $json:expr) => {
        $crate::for_each_message_store_case!([$crate::message_store_tests], ($factory, $json));

        mod history {
            #[allow(unused_imports)]
            use super::*;

            #[test]
            fn random_histories_agree_with_the_model() {
                $crate::conformance::history::run_all($json, $factory);
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! message_store_tests {
    (($factory:expr, $json:expr) $($topic:ident { $($case:ident)* })*) => {
        $(
            mod $topic {
                #[allow(unused_imports)]
                use super::*;

                $(
                    #[test]
                    fn $case() {
                        let name = concat!(stringify!($topic), "::", stringify!($case));
                        $crate::conformance::run(name, $json, $factory);
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
            run: |subject| Box::pin(async move { $topic::$case(&subject).await }),
        }),*),*]
    };
}

fn cases<S: MessageStore>() -> Vec<Case<S>> {
    for_each_message_store_case!([case_list], ())
}

/// Runs the case of this name in a runtime of its own, on a store that `factory` makes there.
///
/// # Panics
/// Where the store fails the case, and where there is no such case.
pub fn run<S: MessageStore>(name: &str, json: Json, factory: impl AsyncFnOnce() -> S) {
    let case = cases::<S>().into_iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("there is no case {name}"));
    runtime().block_on(async {
        let store = Arc::new(factory().await);
        (case.run)(Subject { store, json }).await;
    });
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
