//! Another connection to the file holds its lock.

use std::fs;
use std::time::Duration;

use rusqlite::Connection;
use store_fault::Fault;
use tokio::task::JoinSet;

use crate::store::{Answer, Failed, Store};
use crate::{Place, SHORT};

/// The write lock of a file. No write commits until the value is dropped.
pub(crate) struct Lock(Connection);

impl Lock {
    pub(crate) fn take<S: Store>(place: &Place<S>) -> Self {
        let connection = Connection::open(place.path()).expect("the file opens");
        let taken = connection.execute_batch("BEGIN IMMEDIATE");
        taken.expect("the lock is free");
        Self(connection)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.execute_batch("COMMIT").expect("the lock is free");
    }
}

pub(crate) async fn write_that_waits_for_a_lock_fails_and_writes_nothing<S: Store>(
    place: &Place<S>,
) {
    let store = place.open_with_short_limit().await;
    let lock = Lock::take(place);
    assert_locked(&store.write().await);
    assert_locked(&store.write_blocking());
    assert_eq!(store.count().await.unwrap(), 0, "reads do not wait");
    drop(lock);
    store.write().await.unwrap();
    assert_eq!(store.count().await.unwrap(), 1);
    store.close().await;
}

/// These calls do not go through the queue.
pub(crate) async fn other_calls_that_wait_for_a_lock_name_it<S: Store>(place: &Place<S>) {
    let mut file = place.file();
    file.write_timeout = SHORT;
    let lock = Lock::take(place);
    let opened = S::open(file.clone()).await.map(drop);
    assert_locked(&opened);
    drop(lock);
    let store = place.open_with_short_limit().await;
    store.write().await.unwrap();
    let lock = Lock::take(place);
    assert_locked(&store.delete().await);
    assert_locked(&S::repair(file));
    drop(lock);
    assert_eq!(store.count().await.unwrap(), 1);
    store.close().await;
}

fn assert_locked(called: &Answer<()>) {
    assert!(
        matches!(
            called,
            Err(Failed {
                fault: Some(Fault::Locked(_)),
                is_transient: true,
                ..
            })
        ),
        "{called:?}"
    );
}

/// The batch of all callers but the first waits for the lock when their time ends. They were told that
/// the outcome is unknown, and their records were written after the release.
pub(crate) async fn nothing_is_written_of_callers_whose_time_ends_before_their_commit_begins<
    S: Store,
>(
    place: &Place<S>,
) {
    let store = place.open_with_short_limit().await;
    let lock = Lock::take(place);
    let mut writes = JoinSet::new();
    for number in 0..30 {
        let store = store.clone();
        writes.spawn(async move {
            tokio::time::sleep(Duration::from_millis(number)).await;
            store.write().await
        });
    }
    while let Some(written) = writes.join_next().await {
        assert_locked(&written.unwrap());
    }
    drop(lock);
    store.write().await.unwrap();
    assert_eq!(store.count().await.unwrap(), 1);
    store.close().await;
}

/// The lock is free once two callers have left: the first alone, and the second while its batch waits for the
/// lock with those of later callers. The store writes the batch without it.
pub(crate) async fn batch_leaves_out_the_writes_whose_callers_have_left<S: Store>(
    place: &Place<S>,
) {
    const CALLERS: u32 = 20;
    let store = place.open_with_short_limit().await;
    let mut lock = Some(Lock::take(place));
    let mut writes = JoinSet::new();
    for number in 0..CALLERS {
        let store = store.clone();
        writes.spawn(async move {
            tokio::time::sleep(SHORT / CALLERS * number).await;
            store.write().await
        });
    }
    let (mut written, mut left) = (0, 0);
    while let Some(answer) = writes.join_next().await {
        match answer.unwrap() {
            Ok(()) => written += 1,
            // The commit of another one may take too long on a busy machine: its outcome is unknown.
            Err(Failed { fault, .. }) => left += u64::from(matches!(fault, Some(Fault::Locked(_)))),
        }
        if left == 2 {
            lock = None;
        }
    }
    drop(lock);
    assert!(left >= 2 && written > 0, "{left} left, {written} written");
    let stored = store.count().await.unwrap();
    assert!(
        (written..=u64::from(CALLERS) - left).contains(&stored),
        "{stored}: {left}, {written}"
    );
    store.close().await;
}

/// Both run on one thread, so the lock is released only if the write leaves the thread free.
pub(crate) async fn waiting_write_does_not_block_the_thread<S: Store>(place: &Place<S>) {
    let store = place.open().await;
    let lock = Lock::take(place);
    let release = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(lock);
    };
    let (written, ()) = tokio::join!(store.write(), release);
    written.unwrap();
    store.close().await;
}

pub(crate) async fn closed_store_leaves_one_file<S: Store>(place: &Place<S>) {
    let store = place.open().await;
    store.write().await.unwrap();
    assert_eq!(store.count().await.unwrap(), 1);
    store.close().await;
    let files = fs::read_dir(place.folder.path()).unwrap();
    assert_eq!(files.count(), 1);
    let store = place.open().await;
    assert_eq!(store.count().await.unwrap(), 1);
    store.close().await;
}
