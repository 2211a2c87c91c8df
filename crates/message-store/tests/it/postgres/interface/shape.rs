//! Names, parameters, types, columns and rights.

use super::client;

#[tokio::test]
async fn functions_have_message_db_signatures() {
    let (_database, mut sql) = client().await;
    let functions = sql
        .column(
            "SELECT proname || '(' || pg_get_function_arguments(p.oid) || ') '
                    || pg_get_function_result(p.oid)
               FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
              WHERE nspname = 'message_store'",
        )
        .await;
    for expected in [
        "acquire_lock(stream_name character varying) bigint",
        "cardinal_id(stream_name character varying) character varying",
        "category(stream_name character varying) character varying",
        "get_category_messages(category character varying, \"position\" bigint DEFAULT 1, \
         batch_size bigint DEFAULT 1000, correlation character varying DEFAULT NULL::character varying, \
         consumer_group_member bigint DEFAULT NULL::bigint, \
         consumer_group_size bigint DEFAULT NULL::bigint, \
         condition character varying DEFAULT NULL::character varying) SETOF message",
        "get_last_stream_message(stream_name character varying, \
         type character varying DEFAULT NULL::character varying) SETOF message",
        "get_stream_messages(stream_name character varying, \"position\" bigint DEFAULT 0, \
         batch_size bigint DEFAULT 1000, condition character varying DEFAULT NULL::character varying) \
         SETOF message",
        "hash_64(value character varying) bigint",
        "id(stream_name character varying) character varying",
        "is_category(stream_name character varying) boolean",
        "message_store_version() character varying",
        "stream_version(stream_name character varying) bigint",
        "write_message(id character varying, stream_name character varying, \
         type character varying, data jsonb, metadata jsonb DEFAULT NULL::jsonb, \
         expected_version bigint DEFAULT NULL::bigint) bigint",
    ] {
        assert!(
            functions.iter().any(|function| function == expected),
            "{expected} in {functions:#?}"
        );
    }
}

#[tokio::test]
async fn table_and_type_have_message_db_columns() {
    let (_database, mut sql) = client().await;
    let columns = |relation: &str| {
        format!(
            "SELECT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute
              WHERE attrelid = '{relation}'::regclass AND attnum > 0 ORDER BY attnum"
        )
    };
    assert_eq!(
        sql.column(&columns("messages")).await,
        [
            "global_position bigint",
            "position bigint",
            "time timestamp without time zone",
            "stream_name text",
            "type text",
            "data jsonb",
            "metadata jsonb",
            "id uuid"
        ]
    );
    assert_eq!(
        sql.column(&columns("message")).await,
        [
            "id character varying",
            "stream_name character varying",
            "type character varying",
            "position bigint",
            "global_position bigint",
            "data character varying",
            "metadata character varying",
            "time timestamp without time zone"
        ]
    );
}

#[tokio::test]
async fn role_may_only_read_and_insert() {
    let (_database, mut sql) = client().await;
    sql.run("INSERT INTO messages (position, stream_name, type) VALUES (0, 'a-1', 'T')")
        .await;
    assert_eq!(sql.number("SELECT count(*) FROM messages").await, 1);
    for denied in [
        "DELETE FROM messages",
        "UPDATE messages SET type = 'U'",
        "TRUNCATE messages",
        "DROP TABLE messages",
        "SELECT * FROM checkpoint",
        "SELECT * FROM migration",
        "CREATE TABLE message_store.other ()",
    ] {
        let refused = sql.refused(denied).await;
        assert_eq!(refused.code, "42501", "{denied}: {refused:?}");
    }
}

#[tokio::test]
async fn columns_have_message_db_defaults() {
    let (_database, mut sql) = client().await;
    sql.run("SET timezone = 'Pacific/Kiritimati'").await;
    sql.run("INSERT INTO messages (position, stream_name, type) VALUES (0, 'a-1', 'T')")
        .await;
    let age = "SELECT abs(extract(epoch FROM (now() AT TIME ZONE 'utc') - time)) < 60,
                      id IS NOT NULL, global_position FROM messages";
    assert_eq!(sql.rows(age).await, [["t", "t", "1"]]);
    let twice = "INSERT INTO messages (position, stream_name, type) VALUES (0, 'a-1', 'T')";
    assert_eq!(sql.refused(twice).await.code, "23505");
}

#[tokio::test]
async fn views_count_by_stream_type_and_category() {
    let (_database, mut sql) = client().await;
    for (stream, kind) in [("a-1", "X"), ("a-1", "Y"), ("a-2", "X"), ("b-1", "X")] {
        sql.run(&format!(
            "SELECT write_message(gen_random_uuid()::varchar, '{stream}', '{kind}', '{{}}')"
        ))
        .await;
    }
    for (view, expected) in [
        ("type_summary", "X,3,75.00 Y,1,25.00"),
        ("stream_summary", "a-1,2,50.00 a-2,1,25.00 b-1,1,25.00"),
        (
            "stream_type_summary",
            "a-1,X,1,25.00 a-1,Y,1,25.00 a-2,X,1,25.00 b-1,X,1,25.00",
        ),
        (
            "type_stream_summary",
            "X,a-1,1,25.00 X,a-2,1,25.00 X,b-1,1,25.00 Y,a-1,1,25.00",
        ),
        (
            "category_type_summary",
            "a,X,2,50.00 a,Y,1,25.00 b,X,1,25.00",
        ),
        (
            "type_category_summary",
            "X,a,2,50.00 X,b,1,25.00 Y,a,1,25.00",
        ),
    ] {
        let rows = sql.rows(&format!("SELECT * FROM {view}")).await;
        let rows: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
        assert_eq!(rows.join(" "), expected, "{view}");
    }
}
