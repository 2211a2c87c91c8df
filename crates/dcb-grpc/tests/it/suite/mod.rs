//! The meaning of each call, on every backend.

mod append;
mod differences;
mod read;
mod retries;
mod subscribe;

macro_rules! on_every_backend {
    ($($module:ident::$test:ident),* $(,)?) => {
        on_every_backend! { @ memory $($module::$test),* }
        on_every_backend! { @ sqlite $($module::$test),* }
        on_every_backend! { @ postgres $($module::$test),* }
    };
    (@ $backend:ident $($module:ident::$test:ident),*) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    let log = crate::support::Log::$backend().await;
                    let served = crate::support::Served::new(log).await;
                    super::$module::$test(&served).await;
                    served.stop().await;
                }
            )*
        }
    };
}

on_every_backend! {
    append::events_come_back_as_they_were,
    append::condition_counts_only_what_comes_after,
    append::condition_without_query_matches_everything,
    append::after_beyond_the_head_holds,
    append::without_events_the_position_is_0,
    append::tracked_positions_must_increase,
    append::tracking_comes_back_on_every_event,
    append::invalid_values_are_named,
    append::racing_writers_have_one_winner_per_boundary,
    differences::events_without_an_id_get_one,
    differences::an_id_occurs_once_in_an_append,
    differences::names_have_bounds,
    differences::numbers_have_bounds,
    differences::tracking_needs_events_a_source_and_a_signed_position,
    differences::other_interfaces_see_tracking_and_order_as_metadata,
    differences::subscriptions_of_an_emptied_log_fail,
    read::matches_by_type_and_tags,
    read::pages_have_the_head_of_the_snapshot,
    read::limited_pages_have_the_position_of_their_last_event,
    read::starts_at_both_ends,
    read::pieces_before_the_last_have_no_head,
    read::pieces_have_at_most_256_kib,
    read::snapshot_is_that_of_the_first_page,
    retries::of_the_same_events_return_their_position,
    retries::with_other_first_matches_fail,
    retries::without_a_match_or_a_condition_return_the_first_position,
    retries::with_other_content_follow_the_condition,
    subscribe::begins_after_a_position_and_follows,
    subscribe::beyond_the_head_waits_for_that_position,
    subscribe::after_the_greatest_position_ends_at_once,
    subscribe::batch_size_bounds_each_message,
    subscribe::large_events_arrive,
}
