//! Hints from other processes: one connection that listens for their notifications.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::Notifier;

/// Passes notifications on, from when somebody first asks for them.
pub(super) struct Listening {
    options: PgConnectOptions,
    channel: String,
    runtime: Handle,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Listening {
    /// On the runtime of the caller.
    pub(super) fn new(options: PgConnectOptions, channel: String) -> Self {
        Self {
            options,
            channel,
            runtime: Handle::current(),
            task: Mutex::default(),
        }
    }

    /// Begins, if it has not yet.
    pub(super) fn begin(&self, notifier: &Arc<Notifier>) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.get_or_insert_with(|| {
            let listen = listen(
                self.options.clone(),
                self.channel.clone(),
                Arc::clone(notifier),
            );
            self.runtime.spawn(listen)
        });
    }

    /// Ends it for good.
    pub(super) fn end(&self) {
        if let Some(task) = &*self.task.lock().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whoever waits is woken after every pause in which notifications may have been missed, too.
async fn listen(options: PgConnectOptions, channel: String, notifier: Arc<Notifier>) {
    const PAUSE: Duration = Duration::from_secs(1);
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(options);
    loop {
        // An error is a connection that is lost: the next round opens another.
        let _ = pass_on(&pool, &channel, &notifier).await;
        sleep(PAUSE).await;
    }
}

async fn pass_on(
    pool: &sqlx::PgPool,
    channel: &str,
    notifier: &Notifier,
) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.ignore_pool_close_event(true);
    listener.listen(channel).await?;
    notifier.notify();
    // `None` where the connection was lost.
    while listener.try_recv().await?.is_some() {
        notifier.notify();
    }
    Ok(())
}
