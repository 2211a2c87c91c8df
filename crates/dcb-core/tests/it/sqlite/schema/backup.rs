//! Copies of a log that is in use.

use dcb_core::EventStore as _;

use crate::support::events::{head, read, tag, tagged, whole_log};
use crate::support::sqlite::files::foreign;
use crate::support::sqlite::{connect, fresh_log, log_at};

#[tokio::test(flavor = "multi_thread")]
async fn backup_during_appends_is_consistent() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let own = foreign(&log);
    own.execute_batch("CREATE TABLE own (n); INSERT INTO own VALUES (7)")
        .unwrap();
    let appends = store.clone();
    let appends = tokio::spawn(async move {
        for _ in 0..200 {
            appends.append(tagged("a")).await.unwrap();
        }
    });
    while head(&store).await < 40 {
        tokio::task::yield_now().await;
    }
    let path = log.path().with_extension("copy");
    store.backup(&path).await.unwrap();
    appends.await.unwrap();
    let copy = log_at(path);
    let opened = connect(&copy).await;
    let copied = whole_log(&opened).await;
    assert!(copied.len() >= 40, "{}", copied.len());
    assert_eq!(copied, whole_log(&store).await[..copied.len()]);
    assert_eq!(read(&opened, &tag("a")).await.len(), copied.len());
    let number: i64 = foreign(&copy)
        .query_row("SELECT n FROM own", [], |row| row.get(0))
        .unwrap();
    assert_eq!(number, 7);
    opened.append(tagged("b")).await.unwrap();
    opened.close().await;
    store.close().await;
}
