//! The functions that read.

use super::client;
use crate::support::postgres::sql::Sql;

/// Writes three messages to `a-1` and one each to `a-2` and `b-1`, alternating, with the types `T0`
/// to `T4`.
async fn filled(sql: &mut Sql) {
    let streams = ["a-1", "a-2", "a-1", "b-1", "a-1"];
    for (index, stream) in streams.into_iter().enumerate() {
        let metadata = match index {
            2 => "'{\"correlationStreamName\": \"c-1\"}'",
            4 => "'{\"correlationStreamName\": \"cc-1\"}'",
            _ => "NULL",
        };
        sql.run(&format!(
            "SELECT write_message(gen_random_uuid()::varchar, '{stream}', 'T{index}',
                                  '{{\"n\": {index}}}', {metadata})"
        ))
        .await;
    }
}

/// The types of the messages that a call returns.
async fn types(sql: &mut Sql, call: &str) -> String {
    sql.column(&format!("SELECT type FROM {call}"))
        .await
        .join(" ")
}

#[tokio::test]
async fn stream_is_read_from_position() {
    let (_database, mut sql) = client().await;
    filled(&mut sql).await;
    for (call, expected) in [
        ("get_stream_messages('a-1')", "T0 T2 T4"),
        ("get_stream_messages('a-1', 1)", "T2 T4"),
        ("get_stream_messages('a-1', 1, 1)", "T2"),
        (
            "get_stream_messages('a-1', \"position\" => 1, batch_size => 1)",
            "T2",
        ),
        ("get_stream_messages('a-1', NULL, NULL)", "T0 T2 T4"),
        ("get_stream_messages('a-1', batch_size => -1)", "T0 T2 T4"),
        ("get_stream_messages('a-1', 3)", ""),
        ("get_stream_messages('a-9')", ""),
        ("get_stream_messages('a-1', batch_size => 0)", ""),
    ] {
        assert_eq!(types(&mut sql, call).await, expected, "{call}");
    }
    for (argument, shown) in [("'a'", "a"), ("''", ""), ("NULL", "<NULL>")] {
        let call = format!("SELECT get_stream_messages({argument})");
        let expected = format!("Must be a stream name: {shown}");
        assert_eq!(sql.raised(&call).await, expected);
    }
}

#[tokio::test]
async fn message_has_columns_of_message_db() {
    let (_database, mut sql) = client().await;
    filled(&mut sql).await;
    for call in [
        "get_stream_messages('a-1', 1, 1)",
        "get_category_messages('a', 3, 1)",
    ] {
        let row = sql
            .rows(&format!("SELECT * FROM {call}"))
            .await
            .swap_remove(0);
        assert_eq!(row[0].len(), 36);
        assert_eq!(
            row[1..7],
            [
                "a-1",
                "T2",
                "1",
                "3",
                "{\"n\": 2}",
                "{\"correlationStreamName\": \"c-1\"}"
            ]
        );
    }
}

#[tokio::test]
async fn category_is_read_from_global_position() {
    let (_database, mut sql) = client().await;
    filled(&mut sql).await;
    for (call, expected) in [
        ("get_category_messages('a')", "T0 T1 T2 T4"),
        ("get_category_messages('a', 2)", "T1 T2 T4"),
        ("get_category_messages('a', 2, 2)", "T1 T2"),
        ("get_category_messages('a', NULL, NULL)", "T0 T1 T2 T4"),
        (
            "get_category_messages('a', batch_size => -1)",
            "T0 T1 T2 T4",
        ),
        ("get_category_messages('b')", "T3"),
        ("get_category_messages('c')", ""),
        ("get_category_messages('a', batch_size => 0)", ""),
        ("get_category_messages(NULL)", ""),
        ("get_category_messages('a', correlation => 'c')", "T2"),
        ("get_category_messages('a', correlation => 'cc')", "T4"),
        ("get_category_messages('a', correlation => 'd')", ""),
    ] {
        assert_eq!(types(&mut sql, call).await, expected, "{call}");
    }
    for (call, expected) in [
        ("get_category_messages('a-1')", "Must be a category: a-1"),
        (
            "get_category_messages('a', correlation => 'c-1')",
            "Correlation must be a category (Correlation: c-1)",
        ),
    ] {
        assert_eq!(sql.raised(&format!("SELECT {call}")).await, expected);
    }
}

#[tokio::test]
async fn each_stream_belongs_to_one_group_member() {
    let (_database, mut sql) = client().await;
    for id in 0..40 {
        sql.write(&format!("a-{id}+{}", id % 3)).await;
    }
    sql.write("a-7").await;
    let mut all = Vec::new();
    for member in 0..3 {
        let names = sql
            .column(&format!(
                "SELECT stream_name FROM get_category_messages('a', consumer_group_member => {member},
                                                               consumer_group_size => 3)"
            ))
            .await;
        let belongs_to_member = |name: &String| {
            let cardinal_id = name[2..].split('+').next().unwrap();
            message_store::hash_64(cardinal_id).unsigned_abs() % 3 == member
        };
        assert!(names.iter().all(belongs_to_member), "{names:?}");
        assert!(!names.is_empty());
        all.extend(names);
    }
    assert_eq!(all.len(), 41);
}

#[tokio::test]
async fn invalid_group_raises_message_db_error() {
    let (_database, mut sql) = client().await;
    for (group, expected) in [
        (
            "0, NULL",
            "Consumer group member and size must be specified (Consumer Group Member: 0, Consumer Group Size: <NULL>)",
        ),
        (
            "NULL, 1",
            "Consumer group member and size must be specified (Consumer Group Member: <NULL>, Consumer Group Size: 1)",
        ),
        (
            "0, 0",
            "Consumer group size must not be less than 1 (Consumer Group Member: 0, Consumer Group Size: 0)",
        ),
        (
            "-1, 2",
            "Consumer group member must not be less than 0 (Consumer Group Member: -1, Consumer Group Size: 2)",
        ),
        (
            "2, 2",
            "Consumer group member must be less than the group size (Consumer Group Member: 2, Consumer Group Size: 2)",
        ),
    ] {
        let call = format!("SELECT get_category_messages('a', 1, 10, NULL, {group})");
        assert_eq!(sql.raised(&call).await, expected);
    }
}

#[tokio::test]
async fn last_message_is_found_by_type() {
    let (_database, mut sql) = client().await;
    filled(&mut sql).await;
    for (call, expected) in [
        ("get_last_stream_message('a-1')", "T4"),
        ("get_last_stream_message('a-1', 'T2')", "T2"),
        (
            "get_last_stream_message(stream_name => 'a-1', type => 'T9')",
            "",
        ),
        ("get_last_stream_message('a-9')", ""),
    ] {
        assert_eq!(types(&mut sql, call).await, expected, "{call}");
    }
}

#[tokio::test]
async fn sql_condition_needs_enabled_setting() {
    let (_database, mut sql) = client().await;
    filled(&mut sql).await;
    let calls = [
        "get_stream_messages('a-1', condition => 'type = ''T2'' OR false')",
        "get_category_messages('a', condition => 'type = ''T2'' OR false')",
        "get_category_messages('a', condition => 'data->>''n'' = ''2''', correlation => 'c')",
    ];
    for setting in [
        "",
        "SET message_store.sql_condition TO off",
        "SET message_store.sql_condition TO ''",
    ] {
        sql.run(setting).await;
        for call in calls {
            assert_eq!(
                sql.raised(&format!("SELECT {call}")).await,
                "Retrieval with SQL condition is not activated"
            );
        }
    }
    sql.run("SET message_store.sql_condition TO on").await;
    for call in calls {
        assert_eq!(types(&mut sql, call).await, "T2", "{call}");
    }
}

#[tokio::test]
async fn names_and_values_are_never_executed_as_sql() {
    let (_database, mut sql) = client().await;
    sql.run("SET message_store.sql_condition TO on").await;
    let name = "a-''; DROP TABLE messages; --";
    sql.write(name).await;
    for call in [
        format!("get_stream_messages('{name}')"),
        format!("get_stream_messages('{name}', condition => 'true')"),
        format!("get_last_stream_message('{name}', 'ByClient')"),
    ] {
        assert_eq!(types(&mut sql, &call).await, "ByClient", "{call}");
    }
}
