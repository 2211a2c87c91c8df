//! Bodies above the size limit, on each path that takes a body.

use axum::http::StatusCode;
use demo_server::Settings;

use crate::support::Client;

#[tokio::test]
async fn body_above_the_limit_is_413_in_the_form_of_its_interface() {
    let client = Client::with(Settings {
        max_body_bytes: 1000,
        ..Settings::in_memory()
    })
    .await;
    for (path, member) in [
        ("/series/write", "code"),
        ("/series/query", "code"),
        ("/write", "code"),
        ("/api/v2/write", "message"),
        ("/api/v1/write", "errorType"),
        ("/api/v1/query", "errorType"),
        ("/api/v1/query_range", "errorType"),
        ("/api/v1/series", "errorType"),
        ("/api/v1/labels", "errorType"),
    ] {
        let answer = client.post_bytes(path, vec![b' '; 1001]).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
        assert!(
            answer.json()[member].is_string(),
            "{path}: {}",
            answer.text()
        );
    }
    client.stop().await;
}
