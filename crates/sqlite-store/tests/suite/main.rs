#![cfg(unix)]
//! The promises of the ground to both stores in SQLite: one suite, which each store runs.

mod backups;
mod durability;
mod events;
mod folder;
mod locks;
mod log_events;
mod log_length;
mod messages;
mod moved;
mod namespaces;
mod opening;
mod read_only;
mod store;

use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

use sqlite_store::{FileConfig, Location};
use tempfile::TempDir;

use store::Store;

/// The time of a write that is to fail.
const SHORT: Duration = Duration::from_millis(500);

/// A new folder, for the file of a store.
struct Place<S> {
    folder: TempDir,
    store: PhantomData<fn() -> S>,
}

impl<S: Store> Place<S> {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            store: PhantomData,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    /// The defaults, for the store in this folder.
    fn file(&self) -> FileConfig {
        FileConfig::new(Location::File(self.path()))
    }

    async fn open(&self) -> S {
        S::open(self.file()).await.expect("the store opens")
    }

    /// A store whose writes fail soon.
    async fn open_with_short_limit(&self) -> S {
        let mut file = self.file();
        file.write_timeout = SHORT;
        S::open(file).await.expect("the store opens")
    }

    /// Makes a store that holds this number of records, and closes it.
    async fn fill(&self, records: u64) {
        let store = self.open().await;
        for _ in 0..records {
            store.write().await.expect("a write");
        }
        store.close().await;
    }
}

macro_rules! for_each_case {
    ([$($then:tt)+], ($($with:tt)*)) => {
        $($then)+! {
            ($($with)*)
            moved {
                removed_file_is_noticed
                replaced_file_is_noticed
                moved_file_is_noticed_and_keeps_what_was_acknowledged
            }
            locks {
                write_that_waits_for_a_lock_fails_and_writes_nothing
                other_calls_that_wait_for_a_lock_name_it
                nothing_is_written_of_callers_whose_time_ends_before_their_commit_begins
                batch_leaves_out_the_writes_whose_callers_have_left
                waiting_write_does_not_block_the_thread
                closed_store_leaves_one_file
            }
            log_events {
                lock_of_another_connection_is_told_once_and_when_it_is_free
                installation_of_a_file_is_told_once
            }
            opening {
                stores_that_open_together_make_one_store
                file_that_is_no_database_is_refused_and_kept
                path_where_no_file_can_be_may_pass
            }
            durability {
                health_tells_whether_each_commit_is_flushed
                store_in_memory_is_not_durable
            }
            backups {
                backup_changes_no_other_file
                store_is_used_after_its_backup
            }
            log_length {
                log_stays_short_while_reads_overlap
            }
            read_only {
                store_in_read_only_folder_is_read
                read_only_file_is_read
                backup_in_read_only_folder_is_read
                unfinished_write_ahead_log_in_read_only_folder_is_not_ignored
                store_for_reads_sees_what_others_write
                file_without_store_is_refused_for_reads
                memory_is_refused_for_reads
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
                conformance_suite::run(cases, name, async || Place::<$store>::new());
            }

            for_each_case!([conformance_suite::tests], (run_case));
        }
    };
}

fault_suite!(in_dcb_core, events::Events);
fault_suite!(in_message_store, messages::Messages);
