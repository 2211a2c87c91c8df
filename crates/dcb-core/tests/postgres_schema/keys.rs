//! The keys of the tag index are hashes.

use dcb_core::{Append, EventStore as _, Query, Tracking};

use crate::support::events::{at, event, positions, read, tag, unless};
use crate::support::sql::Sql;
use crate::support::{connect, fresh_log};

/// The index has a row for a key and an event, also where two of the event's tags have that key.
#[tokio::test(flavor = "multi_thread")]
async fn tags_of_one_event_may_have_the_same_key() {
    const SAME: [&str; 2] = ["course_id:2093195", "course_id:2106114"];
    let log = fresh_log().await;
    let store = connect(&log).await;
    // By the statement that knows the head, and by the function.
    store.append(event("Happened", &SAME)).await.unwrap();
    store.append(event("Happened", &SAME)).await.unwrap();
    let tracking = Tracking::new("upstream", 1).unwrap();
    let tracked = Append::new(event("Happened", &SAME)).tracking(tracking);
    store.submit(tracked).await.unwrap();
    store.append(event("Happened", &SAME[..1])).await.unwrap();

    let mut sql = Sql::connect(&log.url).await;
    let rows = format!("SELECT count(*) FROM {}.event_tag", log.schema);
    assert_eq!(sql.number(&rows).await, 4, "one of each event");
    sql.close().await;
    assert_eq!(positions(&read(&store, &tag(SAME[0])).await), [1, 2, 3, 4]);
    assert_eq!(positions(&read(&store, &tag(SAME[1])).await), [1, 2, 3]);
    let both = Query::builder().tags(SAME).build().unwrap();
    assert_eq!(positions(&read(&store, &both).await), [1, 2, 3]);
    let free = unless(SAME[1]).after(at(3));
    store.append_if(event("Happened", &[]), free).await.unwrap();
    store.close().await;
}
