use crate::error::BoxError;
use std::sync::{Arc, OnceLock};
use std::thread;
use tokio::runtime::Builder;
use tokio::sync::watch;

/// Ctrl-C as a flag that running work checks. The run then unwinds, so that servers are stopped
/// and no half-written file stays.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    pressed: Arc<watch::Sender<bool>>,
}

impl Interrupt {
    /// Listens for Ctrl-C from the first call on, until the process ends.
    pub(crate) fn listen() -> Self {
        static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();
        let interrupt = INTERRUPT.get_or_init(|| {
            let interrupt = Self {
                pressed: Arc::new(watch::Sender::new(false)),
            };
            // A separate thread: once tokio has installed its handler, Ctrl-C no longer ends the
            // process, and between two targets no runtime exists to notice it.
            let listener = interrupt.clone();
            thread::spawn(move || listener.set_when_pressed());
            interrupt
        });
        interrupt.clone()
    }

    fn set_when_pressed(&self) {
        if let Ok(runtime) = Builder::new_current_thread().enable_all().build()
            && runtime.block_on(tokio::signal::ctrl_c()).is_ok()
        {
            self.pressed.send_replace(true);
        }
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

    /// Waits for Ctrl-C and returns the error for the caller to stop with.
    pub(crate) async fn wait(&self) -> BoxError {
        let mut pressed = self.pressed.subscribe();
        // The wait fails only if the channel is closed, but `self` holds the sender.
        let _ = pressed.wait_for(|pressed| *pressed).await;
        "interrupted".into()
    }
}
