//! Names that a log can't store.

use dcb_core::EventStore as _;

use crate::support::postgres::{connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn invalid_tracking_source_has_no_position() {
    let store = connect(&fresh_log().await).await;
    for source in ["", "a\0b", "\0"] {
        assert_eq!(store.tracked(source).await.unwrap(), None, "{source:?}");
    }
    store.close().await;
}
