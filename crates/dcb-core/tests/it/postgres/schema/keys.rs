//! The keys of the tag index are hashes, which can collide.

use dcb_core::{Append, EventStore as _, Query, Tracking};

use crate::support::events::{at, event, positions, read, tag, unless};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};

/// The index has one row per key and event, even if two tags of the event have the same key.
#[tokio::test(flavor = "multi_thread")]
async fn tags_of_one_event_can_share_a_key() {
    const SAME: [&str; 2] = ["course_id:2093195", "course_id:2106114"];
    let log = fresh_log().await;
    let store = connect(&log).await;
    // These appends use the optimistic statement and the function.
    store.append(event("Happened", &SAME)).await.unwrap();
    store.append(event("Happened", &SAME)).await.unwrap();
    let tracking = Tracking::new("upstream", 1).unwrap();
    let tracked = Append::new(event("Happened", &SAME)).tracking(tracking);
    store.submit(tracked).await.unwrap();
    store.append(event("Happened", &SAME[..1])).await.unwrap();

    let mut sql = Sql::connect(&log.url).await;
    let rows = format!("SELECT count(*) FROM {}.event_tag", log.schema);
    assert_eq!(sql.number(&rows).await, 4, "one row per event");
    sql.close().await;
    assert_eq!(positions(&read(&store, &tag(SAME[0])).await), [1, 2, 3, 4]);
    assert_eq!(positions(&read(&store, &tag(SAME[1])).await), [1, 2, 3]);
    let both = Query::builder().tags(SAME).build().unwrap();
    assert_eq!(positions(&read(&store, &both).await), [1, 2, 3]);
    let free = unless(SAME[1]).after(at(3));
    store.append_if(event("Happened", &[]), free).await.unwrap();
    store.close().await;
}
