//! Concurrent callers.

use std::sync::Arc;

use tokio::sync::Barrier;

/// Runs `work` in `callers` tasks that start together. Returns the results in task order.
///
/// # Panics
/// If a task panics.
pub async fn at_once<S, F, T>(
    store: &Arc<S>,
    callers: usize,
    work: impl Fn(Arc<S>, usize) -> F,
) -> Vec<T>
where
    S: Send + Sync + 'static,
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let barrier = Arc::new(Barrier::new(callers));
    let tasks: Vec<_> = (0..callers)
        .map(|number| {
            let (barrier, work) = (Arc::clone(&barrier), work(Arc::clone(store), number));
            tokio::spawn(async move {
                barrier.wait().await;
                work.await
            })
        })
        .collect();
    let mut answers = Vec::with_capacity(callers);
    for task in tasks {
        answers.push(task.await.expect("no caller panics"));
    }
    answers
}
