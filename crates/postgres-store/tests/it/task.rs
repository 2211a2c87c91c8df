//! Work in a task.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use postgres_store::Task;
use tokio::sync::Notify;

#[test]
fn work_that_ends_at_once_needs_no_runtime() {
    let mut task = std::pin::pin!(Task::start(ready(1)).join());
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let done = task.as_mut().poll(&mut cx);
    assert_eq!(done, std::task::Poll::Ready(Some(1)));
}

#[tokio::test]
async fn work_goes_on_while_its_task_is_not_joined() {
    let (begin, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let task = Task::start({
        let (begin, ended) = (Arc::clone(&begin), Arc::clone(&ended));
        async move {
            begin.notified().await;
            ended.notify_one();
            7
        }
    });
    begin.notify_one();
    ended.notified().await;
    assert_eq!(task.join().await, Some(7));
}

#[tokio::test]
async fn dropped_task_ends_its_work() {
    let held = Arc::new(());
    let task = Task::start({
        let held = Arc::clone(&held);
        async move {
            pending::<()>().await;
            drop(held);
        }
    });
    assert_eq!(Arc::strong_count(&held), 2);
    drop(task);
    while Arc::strong_count(&held) > 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn work_that_must_end_goes_on_after_its_task_is_dropped() {
    let (begin, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let task = Task::start({
        let (begin, ended) = (Arc::clone(&begin), Arc::clone(&ended));
        async move {
            begin.notified().await;
            ended.notify_one();
        }
    });
    drop(task.to_its_end());
    begin.notify_one();
    ended.notified().await;
}

#[tokio::test]
#[should_panic(expected = "a bug in the work")]
async fn panic_of_the_work_reaches_the_caller() {
    let task = Task::start(async {
        tokio::task::yield_now().await;
        panic!("a bug in the work");
    });
    let _: Option<()> = task.join().await;
}

#[test]
fn work_has_no_result_after_its_runtime_has_shut_down() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let task = runtime.block_on(async { Task::start(pending::<()>()) });
    drop(runtime);
    let other = tokio::runtime::Runtime::new().expect("a runtime starts");
    assert_eq!(other.block_on(task.join()), None);
}
