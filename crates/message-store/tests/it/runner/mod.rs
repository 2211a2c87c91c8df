//! The runner of messages, on both backends.

mod cases;
mod deleted;
mod events;
mod failure;
mod outage;
pub(crate) mod support;

/// The cases as tests of a backend. The expression yields a store and what has to outlive it.
macro_rules! suite {
    ($backend:ident, $open:expr, [$($case:ident,)*]) => {
        mod $backend {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let (_kept, store) = $open.await;
                super::cases::$case(store).await;
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
    messages_are_handled_in_order_and_once,
    failing_message_is_tried_and_then_set_aside,
    poison_is_written_once,
    panic_of_the_handler_is_a_failure,
    large_poison_is_written_without_its_data,
    runner_of_all_categories_skips_its_poison,
    consumers_of_all_categories_copy_no_copies,
    message_that_names_another_is_no_copy,
    consumer_of_another_category_skips_nothing,
    outage_of_the_handler_does_not_count_as_a_try,
    stop_finishes_the_handler_and_saves_the_checkpoint,
    stop_ends_the_pauses_of_a_failing_handler,
    members_of_a_group_have_their_own_checkpoints,
    group_of_another_size_goes_on_where_the_old_one_stopped,
    lag_ends_at_messages_of_other_categories,
    dropped_run_repeats_and_loses_nothing,
    checkpoint_is_saved_while_the_runner_waits,
    closed_store_ends_the_run,
    checkpoint_beyond_an_empty_store_is_refused,
]);
