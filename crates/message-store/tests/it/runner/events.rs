//! Events of a runner in the log.

use std::time::Duration;

use message_store::{ConsumerGroup, Failure, MessageRunner, RecordedMessage};
use store_meter::testing::Log;
use tokio::time::sleep;

use super::support::{in_memory, quick, write_numbers};
use crate::support::category;

/// Fails with these failures, one after the other, and then no more.
fn failing(
    failures: Vec<Failure>,
) -> impl FnMut(RecordedMessage) -> std::future::Ready<Result<(), Failure>> {
    let mut failures = failures.into_iter();
    move |_| std::future::ready(failures.next().map_or(Ok(()), Err))
}

async fn run(failures: Vec<Failure>) -> Vec<String> {
    let ((), store) = in_memory().await;
    write_numbers(&store, 0..2).await;
    let log = Log::begin();
    let runner = MessageRunner::new(store, "mailer", category("a"), failing(failures));
    let options = quick().max_tries(3);
    let group = ConsumerGroup::new(0, 1).unwrap();
    let mut runner = runner.unwrap().group(group).options(options);
    runner.catch_up().await.unwrap();
    log.lines(&[])
}

/// Asserts that each line has the parts that are expected of it.
#[track_caller]
fn assert_lines(lines: &[String], expected: &[&[&str]]) {
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, parts) in lines.iter().zip(expected) {
        for part in *parts {
            assert!(line.contains(part), "{line} lacks {part}");
        }
    }
}

#[tokio::test]
async fn outage_is_told_when_it_begins_and_when_it_ends() {
    let down = || Failure::Outage("the mail server is down".into());
    let lines = run((0..20).map(|_| down()).collect()).await;
    assert_lines(
        &lines,
        &[
            &[
                "WARN",
                "a consumer waits",
                r#"consumer="a-mailer-0-of-1""#,
                "lag=2",
                "the mail server is down",
            ],
            &[
                "INFO",
                "a consumer goes on",
                r#"consumer="a-mailer-0-of-1""#,
                "seconds=",
                "retries=19",
            ],
        ],
    );
}

#[tokio::test]
async fn message_that_fails_is_told_once() {
    let lines = run(vec!["first".into(), "second".into()]).await;
    assert_lines(
        &lines,
        &[
            &[
                "WARN",
                "a message failed and is tried again",
                r#"stream="a-0""#,
                r#"error="first""#,
            ],
            &[
                "INFO",
                "a message is handled after all",
                r#"stream="a-0""#,
                "tries=3",
            ],
        ],
    );
}

#[tokio::test]
async fn poison_is_told() {
    let lines = run(vec!["first".into(), "second".into(), "third".into()]).await;
    assert_lines(
        &lines,
        &[
            &[
                "WARN",
                "a message failed and is tried again",
                r#"error="first""#,
            ],
            &[
                "WARN",
                "a message is in the poison stream",
                "id=",
                "tries=3",
                r#"error="third""#,
            ],
        ],
    );
}

#[tokio::test]
async fn run_without_trouble_says_nothing() {
    assert_lines(&run(Vec::new()).await, &[]);
}

#[tokio::test]
async fn late_checkpoints_are_told_when_they_begin_and_when_they_end() {
    let ((), store) = in_memory().await;
    write_numbers(&store, 0..7).await;
    let log = Log::begin();
    let handler = |message: RecordedMessage| async move {
        if message.data::<u64>()? < 4 {
            sleep(Duration::from_millis(400)).await;
        }
        Ok(())
    };
    let runner = MessageRunner::new(store.clone(), "mailer", category("a"), handler);
    let options = quick().checkpoint_after(2, Duration::from_millis(30));
    let mut runner = runner.unwrap().options(options);
    runner.catch_up().await.unwrap();
    let lines = log.lines(&[]);
    assert_lines(
        &lines,
        &[
            &[
                "WARN",
                "a checkpoint is late",
                r#"consumer="a-mailer""#,
                "seconds=",
                "messages=2",
            ],
            &["INFO", "checkpoints are in time again"],
        ],
    );
    let (_, late) = lines[0].split_once("seconds=").unwrap();
    let seconds: f64 = late.split(' ').next().unwrap().parse().unwrap();
    assert!(seconds >= 0.4, "{seconds}");
}
