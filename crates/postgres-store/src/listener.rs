//! Listens for the notifications with which writers of other processes wake the readers of this one.
//!
//! Invariant: a notification is only a hint. A reader moves only by what it has read, and polls as well,
//! so a lost or repeated notification costs time, but no event or message.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use sqlx::{Error, SqlStr};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::hearing::Hearing;
use crate::hosts::Hosts;
use crate::listening::{Heard, ListeningSession};
use crate::server::Server;

/// The pause before a lost session is replaced. It doubles with each failure up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A store's listener: from the first [`start`](Listener::start) until it is dropped, one connection
/// listens on a channel. A store without subscriptions opens no connection for this.
pub struct Listener {
    /// `None` behind a pooler, where a session can't listen.
    session: Option<Session>,
    /// The runtime of the caller that made the listener, for a start outside a runtime.
    runtime: Handle,
    listening: Mutex<Listening>,
}

enum Listening {
    NotYet,
    Begun(JoinHandle<()>),
    Stopped,
}

/// What each session needs.
#[derive(Clone)]
struct Session {
    hosts: Hosts,
    channel: String,
    lock: Option<SqlStr>,
    hearing: Hearing,
    notify: Arc<dyn Fn() + Send + Sync>,
}

impl Listener {
    /// A listener that calls `notify` for each notification on the channel, and when a new session
    /// listens, because earlier notifications are lost. Each session runs `lock` first, if there is one.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(
        server: &Server,
        channel: &str,
        lock: Option<SqlStr>,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let session = server.listener().map(|hosts| Session {
            hosts,
            channel: channel.to_owned(),
            lock,
            hearing: Hearing::new(channel),
            notify: Arc::new(notify),
        });
        Self {
            session,
            runtime: Handle::current(),
            listening: Mutex::new(Listening::NotYet),
        }
    }

    /// Starts to listen, unless the listener is running or was stopped. It runs in the caller's runtime,
    /// or else in the one that made it. If that runtime ends, the next call starts it again.
    pub fn start(&self) {
        let mut listening = self.listening.lock();
        let begins = match &*listening {
            Listening::NotYet => true,
            Listening::Begun(task) => task.is_finished(),
            Listening::Stopped => false,
        };
        if let Some(session) = self.session.clone().filter(|_| begins) {
            session.hearing.starts();
            let runtime = Handle::try_current();
            let runtime = runtime.as_ref().unwrap_or(&self.runtime);
            *listening = Listening::Begun(runtime.spawn(session.listen()));
        }
    }

    /// Stops listening for good, and wakes the readers, so that they find the store closed.
    pub fn stop(&self) {
        let before = std::mem::replace(&mut *self.listening.lock(), Listening::Stopped);
        if let Listening::Begun(task) = before {
            task.abort();
        }
        if let Some(session) = &self.session {
            session.hearing.stops();
            (session.notify)();
        }
    }

    /// Since when no session hears (`None` while one does), and how many sessions took the place of
    /// a lost one. `None` while nothing listens. A listener whose runtime has ended starts again here.
    pub fn report(&self) -> Option<(Option<SystemTime>, u64)> {
        let has_ended =
            matches!(&*self.listening.lock(), Listening::Begun(task) if task.is_finished());
        if has_ended {
            self.start();
        }
        self.session.as_ref()?.hearing.report()
    }
}

impl Session {
    /// Listens, and replaces the session when it is lost or silent, until the task is aborted.
    async fn listen(self) {
        let _ends = Ends(self.hearing.clone());
        let mut pause = FIRST_PAUSE;
        loop {
            let Err(failed) = self.hear(&mut pause).await;
            self.hearing.lost(&failed);
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Listens until the session is lost or silent.
    async fn hear(&self, pause: &mut Duration) -> Result<Infallible, Error> {
        let mut session =
            ListeningSession::open(&self.hosts, &self.channel, self.lock.as_ref()).await?;
        *pause = FIRST_PAUSE;
        self.hearing.hears();
        (self.notify)();
        loop {
            match session.next().await? {
                Heard::Notification => (self.notify)(),
                Heard::SignOfLife { queue_usage } => self.hearing.queue_is_used(queue_usage),
            }
        }
    }
}

/// Notes the end of a task, which also ends with its runtime.
struct Ends(Hearing);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.ends();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}
