use crate::error::BoxError;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Ctrl-C, as a flag that running work looks at: the run then unwinds, so that servers are
/// stopped and nothing half-written stays.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    pressed: Arc<watch::Sender<bool>>,
}

impl Interrupt {
    /// Listens for Ctrl-C from now on.
    pub(crate) fn listen(runtime: &Runtime) -> Self {
        let interrupt = Self {
            pressed: Arc::new(watch::Sender::new(false)),
        };
        let listener = interrupt.clone();
        runtime.spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                listener.pressed.send_replace(true);
            }
        });
        interrupt
    }

    pub(crate) fn is_set(&self) -> bool {
        *self.pressed.borrow()
    }

    pub(crate) fn check(&self) -> Result<(), BoxError> {
        if self.is_set() {
            Err("interrupted".into())
        } else {
            Ok(())
        }
    }

    /// Returns the error to stop with, when Ctrl-C comes.
    pub(crate) async fn wait(&self) -> BoxError {
        let mut pressed = self.pressed.subscribe();
        // The sender lives in `self`, so that the wait ends by Ctrl-C alone.
        let _ = pressed.wait_for(|pressed| *pressed).await;
        "interrupted".into()
    }
}
