//! `write_message` and `stream_version`.

use super::client;

const ID: &str = "00000000-0000-4000-8000-000000000001";

#[tokio::test]
async fn stream_positions_begin_at_0_and_are_dense() {
    let (_database, mut sql) = client().await;
    assert_eq!(sql.value("SELECT stream_version('a-1')").await, "NULL");
    for expected in 0..3 {
        assert_eq!(sql.write("a-1").await, expected);
        assert_eq!(sql.number("SELECT stream_version('a-1')").await, expected);
    }
    assert_eq!(sql.write("a-2").await, 0);
}

#[tokio::test]
async fn parameters_can_be_passed_by_name() {
    let (_database, mut sql) = client().await;
    let written = sql
        .number(&format!(
            "SELECT write_message(id => '{ID}', stream_name => 'a-1', type => 'T',
                                  data => '{{\"n\": 1}}', metadata => '{{\"m\": 2}}', expected_version => -1)"
        ))
        .await;
    assert_eq!(written, 0);
    let rows = sql
        .rows(
            "SELECT id, stream_name, type, position, global_position, data, metadata FROM messages",
        )
        .await;
    assert_eq!(
        rows,
        [[ID, "a-1", "T", "0", "1", "{\"n\": 1}", "{\"m\": 2}"]]
    );
}

#[tokio::test]
async fn wrong_version_raises_message_db_error() {
    let (_database, mut sql) = client().await;
    let write = |expected: i64| {
        format!(
            "SELECT write_message(gen_random_uuid()::varchar, 'a-1', 'T', '{{}}', NULL, {expected})"
        )
    };
    assert_eq!(
        sql.raised(&write(3)).await,
        "Wrong expected version: 3 (Stream: a-1, Stream Version: -1)"
    );
    sql.run(&write(-1)).await;
    assert_eq!(
        sql.raised(&write(-1)).await,
        "Wrong expected version: -1 (Stream: a-1, Stream Version: 0)"
    );
    sql.run(&write(0)).await;
    assert_eq!(sql.number("SELECT stream_version('a-1')").await, 1);
}

#[tokio::test]
async fn duplicate_id_is_refused() {
    let (_database, mut sql) = client().await;
    let write = format!("SELECT write_message('{ID}', 'a-1', 'T', '{{}}')");
    sql.run(&write).await;
    assert_eq!(sql.refused(&write).await.code, "23505");
    assert_eq!(sql.number("SELECT count(*) FROM messages").await, 1);
    let malformed = "SELECT write_message('no id', 'a-1', 'T', '{}')";
    assert_eq!(sql.refused(malformed).await.code, "22P02");
}

#[tokio::test]
async fn data_and_metadata_may_be_null() {
    let (_database, mut sql) = client().await;
    sql.run(&format!("SELECT write_message('{ID}', 'a-1', 'T', NULL)"))
        .await;
    let rows = sql
        .rows("SELECT data, metadata FROM get_stream_messages('a-1')")
        .await;
    assert_eq!(rows, [["NULL", "NULL"]]);
}
