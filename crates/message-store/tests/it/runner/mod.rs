//! The runner of messages, on both backends.

mod cases;
mod deleted;
mod events;
mod failure;
mod outage;
mod parked;
pub(crate) mod support;

/// The cases as tests of a backend. The expression yields a store and what has to outlive it.
macro_rules! suite {
    ($backend:ident, $open:expr, [$($module:ident::$case:ident,)*]) => {
        mod $backend {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let (_kept, store) = $open.await;
                super::$module::$case(store).await;
            })*
        }
    };
}

macro_rules! suites {
    ($cases:tt) => {
        suite!(sqlite, super::support::in_memory(), $cases);
        suite!(postgres, crate::support::postgres::fresh_store(), $cases);
    };
}

suites!([
    cases::messages_are_handled_in_order_and_once,
    cases::failing_message_is_tried_and_then_set_aside,
    cases::poison_is_written_once,
    cases::panic_of_the_handler_is_a_failure,
    cases::large_poison_is_written_without_its_data,
    cases::runner_of_all_categories_skips_its_poison,
    cases::consumers_of_all_categories_copy_no_copies,
    cases::message_that_names_another_is_no_copy,
    cases::consumer_of_another_category_skips_nothing,
    cases::outage_of_the_handler_does_not_count_as_a_try,
    cases::stop_finishes_the_handler_and_saves_the_checkpoint,
    cases::stop_ends_the_pauses_of_a_failing_handler,
    cases::members_of_a_group_have_their_own_checkpoints,
    cases::group_of_another_size_goes_on_where_the_old_one_stopped,
    cases::lag_ends_at_messages_of_other_categories,
    cases::dropped_run_repeats_and_loses_nothing,
    cases::checkpoint_is_saved_while_the_runner_waits,
    cases::closed_store_ends_the_run,
    cases::checkpoint_beyond_an_empty_store_is_refused,
    parked::parked_stream_waits_for_its_replay_while_the_others_go_on,
    parked::replay_beside_a_runner_keeps_the_order_of_the_stream,
    parked::stop_ends_the_run_before_the_message,
    parked::skipped_message_is_listed,
    parked::deleted_message_does_not_hold_a_replay_up,
    parked::consumers_of_all_categories_park_no_records,
]);
