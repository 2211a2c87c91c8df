use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::listener::Listener;

/// A store's channel of a [`Listener`], from its first [`start`](Self::start) until it is stopped or
/// dropped.
pub struct Channel {
    listener: Listener,
    name: Arc<str>,
    notify: Arc<dyn Fn() + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
enum State {
    NotYet,
    /// With the number at the listener, `None` behind a pooler.
    Begun(Option<u64>),
    Stopped,
}

impl Channel {
    pub(crate) fn new(
        listener: Listener,
        name: Arc<str>,
        notify: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self {
            listener,
            name,
            notify,
            state: Mutex::new(State::NotYet),
        }
    }

    /// Starts to listen, unless the channel has begun or was stopped. The connection runs in the runtime
    /// of the first caller; if that runtime ends, the next call of any channel opens another one.
    pub fn start(&self) {
        let mut state = self.state.lock();
        match *state {
            State::NotYet => *state = State::Begun(self.listener.add(&self.name, &self.notify)),
            State::Begun(_) => self.listener.listen(),
            State::Stopped => {}
        }
    }

    /// Stops listening for good, and wakes the readers, so that they find the store closed.
    pub fn stop(&self) {
        let before = std::mem::replace(&mut *self.state.lock(), State::Stopped);
        if let State::Begun(Some(id)) = before {
            self.listener.remove(&self.name, id);
        }
        (self.notify)();
    }

    /// The state of the session that hears the channel. `None` while the channel is not listened to. A
    /// listener whose runtime has ended starts again here.
    pub fn report(&self) -> Option<store_fault::Listener> {
        let state = *self.state.lock();
        match state {
            State::Begun(Some(id)) => self.listener.report_of(&self.name, id),
            _ => None,
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
