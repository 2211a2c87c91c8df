//! UmaDB's Rust client against demo-server, whose program `DEMO_SERVER` names. Each test has an empty store.

mod calls;
mod conditions;
mod events;
mod pages;
mod queries;
mod races;
mod secure;
mod server;
mod streams;

macro_rules! on_each_backend {
    ($($module:ident::$test:ident),* $(,)?) => {
        on_each_backend! { @ sqlite Sqlite $($module::$test),* }
        on_each_backend! { @ postgres Postgres $($module::$test),* }
    };
    (@ $name:ident $backend:ident $($module:ident::$test:ident),*) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$module::$test(super::server::Backend::$backend).await;
                }
            )*
        }
    };
}

on_each_backend! {
    calls::each_call_answers,
    calls::blocking_client_gets_the_same_answers,
    calls::tracked_positions_increase,
    calls::invalid_values_are_refused,
    conditions::condition_counts_only_what_comes_after,
    conditions::retries_return_the_first_position,
    conditions::retries_are_known_before_their_tracking,
    conditions::cancelled_appends_can_be_repeated,
    pages::each_size_reads_everything_in_order,
    pages::limits_and_starts_in_both_directions,
    pages::snapshot_is_that_of_the_first_page,
    pages::large_events_arrive,
    queries::items_types_and_tags_match,
    races::a_crowd_of_appends_is_stored,
    races::each_seat_has_one_winner,
    races::each_decision_saw_the_events_before_it,
    secure::tls_and_key,
    streams::subscriptions_follow_appends,
    streams::subscription_that_is_behind_misses_nothing,
    streams::cancelled_streams_free_their_places,
    streams::subscriptions_end_with_the_server,
}
