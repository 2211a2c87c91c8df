//! Listens for the notifications with which writers of other processes wake the readers of this one.
//!
//! Invariant: a notification is only a hint. A reader moves only by what it has read, and polls as well,
//! so a lost or repeated notification costs time, but no event or message.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use sqlx::{Error, SqlStr};
use store_fault::Listener as Report;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::channel::Channel;
use crate::hearing::Hearing;
use crate::hosts::Hosts;
use crate::listening::{Heard, ListeningSession};
use crate::server::Server;

/// The pause before a lost session is replaced. It doubles with each failure up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The listener of a store, or of the stores of many tenants in one database: one connection listens on
/// all channels that have [started](Channel::start). Without such a channel there is no connection.
/// Cheap to clone; clones share the connection.
#[derive(Clone)]
pub struct Listener {
    shared: Arc<Shared>,
}

struct Shared {
    /// `None` behind a pooler, where a session can't listen.
    hosts: Option<Hosts>,
    /// The statement that each session runs first.
    lock: Option<SqlStr>,
    /// The runtime of the caller that made the listener, for a start outside a runtime.
    runtime: Handle,
    hearing: Hearing,
    channels: Mutex<Channels>,
    /// Notified when a channel has been added or removed.
    changed: Notify,
    /// The number of ears so far.
    ears: AtomicU64,
}

#[derive(Default)]
struct Channels {
    by_name: HashMap<Arc<str>, Vec<Ear>>,
    /// Names that were added or removed since the session looked.
    changed: Vec<Arc<str>>,
    /// The task that listens.
    task: Option<JoinHandle<()>>,
}

/// A part of a store that hears one channel.
struct Ear {
    id: u64,
    notify: Arc<dyn Fn() + Send + Sync>,
    /// Since when it waits for a session that listens on its channel. `None` once one has.
    waits_since: Option<SystemTime>,
}

impl Listener {
    /// A listener, whose log events have this name. Each session runs `lock` first, if there is one.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(server: &Server, name: &str, lock: Option<SqlStr>) -> Self {
        Self {
            shared: Arc::new(Shared {
                hosts: server.listener(),
                lock,
                runtime: Handle::current(),
                hearing: Hearing::new(name),
                channels: Mutex::default(),
                changed: Notify::new(),
                ears: AtomicU64::new(0),
            }),
        }
    }

    /// A channel that calls `notify` for each notification, and when a new session listens, because
    /// earlier notifications are lost. It begins with [`Channel::start`].
    pub fn channel(&self, name: &str, notify: impl Fn() + Send + Sync + 'static) -> Channel {
        Channel::new(self.clone(), name.into(), Arc::new(notify))
    }

    /// The state of the session that listens. `None` while nothing listens.
    pub fn report(&self) -> Option<Report> {
        self.shared.hearing.report()
    }

    /// Adds a channel. Returns the number under which to ask for it and to remove it, `None` behind a
    /// pooler.
    pub(crate) fn add(&self, name: &Arc<str>, notify: &Arc<dyn Fn() + Send + Sync>) -> Option<u64> {
        let shared = &self.shared;
        shared.hosts.as_ref()?;
        let id = shared.ears.fetch_add(1, Ordering::Relaxed);
        let mut channels = shared.channels.lock();
        let ears = channels.by_name.entry(Arc::clone(name)).or_default();
        ears.push(Ear {
            id,
            notify: Arc::clone(notify),
            waits_since: Some(SystemTime::now()),
        });
        channels.changed.push(Arc::clone(name));
        drop(channels);
        self.listen();
        shared.changed.notify_one();
        Some(id)
    }

    /// Removes a channel. The connection ends with the last one.
    pub(crate) fn remove(&self, name: &Arc<str>, id: u64) {
        let mut channels = self.shared.channels.lock();
        let Some(ears) = channels.by_name.get_mut(name) else {
            return;
        };
        ears.retain(|ear| ear.id != id);
        if ears.is_empty() {
            channels.by_name.remove(name);
            channels.changed.push(Arc::clone(name));
        }
        if channels.by_name.is_empty() {
            if let Some(task) = channels.task.take() {
                task.abort();
            }
            self.shared.hearing.stops();
        }
        drop(channels);
        self.shared.changed.notify_one();
    }

    /// As [`report`](Self::report), for one channel.
    pub(crate) fn report_of(&self, name: &Arc<str>, id: u64) -> Option<Report> {
        self.listen();
        let report = self.report()?;
        let channels = self.shared.channels.lock();
        let ear = channels
            .by_name
            .get(name)?
            .iter()
            .find(|ear| ear.id == id)?;
        let lost_since = ear.waits_since.or(report.lost_since);
        Some(Report::new(lost_since, report.replacements))
    }

    /// Starts the task that listens, in the caller's runtime or else in the one that made the listener.
    /// If the runtime of a task has ended, the next call starts it again.
    pub(crate) fn listen(&self) {
        let shared = &self.shared;
        let Some(hosts) = &shared.hosts else {
            return;
        };
        let mut channels = shared.channels.lock();
        let is_running = channels
            .task
            .as_ref()
            .is_some_and(|task| !task.is_finished());
        if is_running || channels.by_name.is_empty() {
            return;
        }
        let task = shared.hearing.starts();
        let runtime = Handle::try_current();
        let runtime = runtime.as_ref().unwrap_or(&shared.runtime);
        let listening = listen(Arc::clone(shared), hosts.clone(), task);
        channels.task = Some(runtime.spawn(listening));
    }
}

/// Listens, and replaces the session when it is lost or silent, until the task is aborted.
async fn listen(shared: Arc<Shared>, hosts: Hosts, task: u64) {
    let _ends = Ends(shared.hearing.clone(), task);
    let mut pause = FIRST_PAUSE;
    loop {
        let Err(failed) = shared.hear(&hosts, &mut pause).await;
        shared.hearing.lost(&failed);
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

impl Shared {
    /// Listens until the session is lost or silent.
    async fn hear(&self, hosts: &Hosts, pause: &mut Duration) -> Result<Infallible, Error> {
        let names = self.channels.lock().all();
        let mut session = ListeningSession::open(hosts, &names, self.lock.as_ref()).await?;
        *pause = FIRST_PAUSE;
        self.hearing.hears();
        names.iter().for_each(|name| self.notify(name));
        loop {
            self.follow_changes(&mut session).await?;
            tokio::select! {
                heard = session.next() => match heard? {
                    Heard::Notification { channel } => self.notify(&channel),
                    Heard::SignOfLife { queue_usage } => self.hearing.queue_is_used(queue_usage),
                },
                () = self.changed.notified() => {}
            }
        }
    }

    /// Listens on the channels that were added, and no longer on those that were removed.
    async fn follow_changes(&self, session: &mut ListeningSession) -> Result<(), Error> {
        let (added, removed) = self.channels.lock().changes();
        session.listen(&added, &removed).await?;
        added.iter().for_each(|name| self.notify(name));
        Ok(())
    }

    /// Passes a notification on. The session listens on the channel.
    fn notify(&self, channel: &str) {
        let mut channels = self.channels.lock();
        let ears = channels.by_name.get_mut(channel).into_iter().flatten();
        let notified: Vec<_> = ears
            .map(|ear| {
                ear.waits_since = None;
                Arc::clone(&ear.notify)
            })
            .collect();
        drop(channels);
        notified.iter().for_each(|notify| notify());
    }
}

impl Channels {
    /// All names, for a new session.
    fn all(&mut self) -> Vec<Arc<str>> {
        self.changed.clear();
        self.by_name.keys().cloned().collect()
    }

    /// The names that were added since the last call, and those that were removed.
    fn changes(&mut self) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        let changed = std::mem::take(&mut self.changed).into_iter();
        changed.partition(|name| self.by_name.contains_key(name))
    }
}

/// Notes the end of a task, which also ends with its runtime.
struct Ends(Hearing, u64);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.ends(self.1);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}
