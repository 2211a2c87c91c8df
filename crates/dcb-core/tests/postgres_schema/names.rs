//! Names that no log can hold.

use dcb_core::EventStore as _;

use crate::support::{connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_can_not_be_tracked_is_not() {
    let store = connect(&fresh_log().await).await;
    for source in ["", "a\0b", "\0"] {
        assert_eq!(store.tracked(source).await.unwrap(), None, "{source:?}");
    }
    store.close().await;
}
