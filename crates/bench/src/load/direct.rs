use super::caller::{Caller, DatabaseWork, Service};
use crate::error::BoxError;
use crate::op::{BoxFuture, Outcome};
use std::time::Duration;

/// A prepared call of a store.
pub struct Direct {
    pause: Duration,
    call: BoxFuture<'static, Result<Outcome, BoxError>>,
}

impl Direct {
    /// A call without a pause after it.
    pub fn new(call: impl Future<Output = Result<Outcome, BoxError>> + Send + 'static) -> Self {
        Self {
            pause: Duration::ZERO,
            call: Box::pin(call),
        }
    }

    /// Sets the pause after the call.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }
}

impl std::fmt::Debug for Direct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Direct").finish_non_exhaustive()
    }
}

/// Calls of a store in this process.
pub struct DirectService<M> {
    make: M,
    work: Option<Box<dyn Fn() -> DatabaseWork + Send + Sync>>,
    blocks: bool,
}

impl<M, N> DirectService<M>
where
    M: Fn(usize) -> N + Send + Sync + 'static,
    N: FnMut() -> Direct + Send + 'static,
{
    /// Calls `make` with the number of each caller. The function that `make` returns prepares one
    /// call at a time.
    pub fn new(make: M) -> Self {
        Self {
            make,
            work: None,
            blocks: false,
        }
    }

    /// Gives each caller a thread, for calls that block.
    #[must_use]
    pub fn blocking(self) -> Self {
        Self {
            blocks: true,
            ..self
        }
    }

    /// Sets the function that counts the work of the store's database.
    #[must_use]
    pub fn counts(self, work: impl Fn() -> DatabaseWork + Send + Sync + 'static) -> Self {
        let work: Option<Box<dyn Fn() -> DatabaseWork + Send + Sync>> = Some(Box::new(work));
        Self { work, ..self }
    }
}

impl<M> std::fmt::Debug for DirectService<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectService").finish_non_exhaustive()
    }
}

impl<M, N> Service for DirectService<M>
where
    M: Fn(usize) -> N + Send + Sync + 'static,
    N: FnMut() -> Direct + Send + 'static,
{
    type Caller = DirectCaller<N>;

    fn database_work(&self) -> Option<DatabaseWork> {
        self.work.as_ref().map(|work| work())
    }

    fn blocks(&self) -> bool {
        self.blocks
    }

    async fn caller(&self, number: usize) -> Result<DirectCaller<N>, BoxError> {
        Ok(DirectCaller {
            next: (self.make)(number),
        })
    }
}

/// A caller of a [`DirectService`].
pub struct DirectCaller<N> {
    next: N,
}

impl<N: FnMut() -> Direct + Send + 'static> Caller for DirectCaller<N> {
    type Asked = Direct;
    type Answer = Outcome;

    fn next(&mut self) -> Direct {
        (self.next)()
    }

    fn pause(&self, asked: &Direct) -> Duration {
        asked.pause
    }

    async fn call(&mut self, asked: &mut Direct) -> Result<Outcome, BoxError> {
        asked.call.as_mut().await
    }

    fn judge(&self, _asked: &Direct, answer: Outcome) -> Result<Outcome, BoxError> {
        Ok(answer)
    }
}
