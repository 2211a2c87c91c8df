//! The promises of the ground to both stores in PostgreSQL: one suite, which each store runs.

mod encryption;
mod events;
mod followers;
mod health;
mod hosts;
mod losses;
mod messages;
mod outages;
mod place;
mod sessions;
mod silence;
mod sql;
mod store;

use hosts::{failover, replicas};
use outages::{causes, limits};

macro_rules! for_each_case {
    ([$($then:tt)+], ($($with:tt)*)) => {
        $($then)+! {
            ($($with)*)
            encryption {
                every_session_of_a_store_is_encrypted
                server_without_encryption_is_refused_if_the_url_demands_it
                pooler_that_demands_encryption_gets_it
            }
            silence {
                store_recovers_from_terminated_idle_connections
                healthy_store_has_no_silent_connection
                calls_succeed_on_other_connections_when_theirs_fall_silent
                deaf_listener_is_replaced
                subscription_goes_on_once_connections_work_again
                stats_and_health_tell_whether_the_listener_hears
            }
            followers {
                read_does_not_wait_behind_all_followers
            }
            health {
                health_waits_for_no_other_call
            }
            losses {
                ended_session_of_the_writer_costs_no_write
            }
            sessions {
                writes_succeed_after_server_was_read_only
                writes_behind_pooler_succeed_after_server_was_read_only
                spoiled_session_costs_one_write_and_no_read
                taken_statement_name_costs_one_write_and_no_read
                transaction_timeout_is_transient
                writes_succeed_after_right_is_given_back
            }
            causes {
                refused_connection_is_the_cause
                unknown_name_is_the_cause
                wrong_password_or_role_or_database_is_told_at_once
            }
            limits {
                read_that_waits_for_a_new_connection_times_out
                calls_to_a_refusing_server_end_within_one_limit_with_the_cause
                calls_to_a_silent_server_end_within_one_limit_with_the_cause
                calls_fail_at_once_during_an_outage_if_the_store_shall
            }
            failover {
                store_goes_on_behind_a_proxy_that_moves
                store_moves_to_a_promoted_standby
            }
            replicas {
                reads_use_all_replicas_that_answer
                reads_leave_a_replica_that_lags_too_far
                reads_after_a_wait_see_the_write_at_every_replica
                reads_after_a_wait_see_the_write_when_a_replica_comes_back
            }
        }
    };
}

/// The suite, as a module of tests of this store.
macro_rules! fault_suite {
    ($name:ident, $store:ty) => {
        mod $name {
            fn run_case(name: &str) {
                use super::*;
                let cases = for_each_case!([conformance_suite::cases], ());
                conformance_suite::run(cases, name, async || place::Ground::<$store>::new());
            }

            for_each_case!([conformance_suite::tests], (run_case));
        }
    };
}

fault_suite!(in_dcb_core, events::Events);
fault_suite!(in_message_store, messages::Messages);
