//! The functions on names.

use message_store::{StreamName, hash_64};

use super::client;

#[tokio::test]
async fn name_functions_split_stream_name() {
    let (_database, mut sql) = client().await;
    for (name, category, id, cardinal_id, is_category) in [
        ("account", "account", "NULL", "NULL", "t"),
        ("account-1", "account", "1", "1", "f"),
        (
            "account:command-1+2-3",
            "account:command",
            "1+2-3",
            "1",
            "f",
        ),
        ("account-", "account", "", "", "f"),
        ("-1", "", "1", "1", "f"),
        ("", "", "NULL", "NULL", "t"),
        ("größe-ß+é", "größe", "ß+é", "ß", "f"),
    ] {
        let sql_text = format!(
            "SELECT category('{name}'), id('{name}'), cardinal_id('{name}'), is_category('{name}')"
        );
        let row = sql.rows(&sql_text).await.swap_remove(0);
        assert_eq!(row, [category, id, cardinal_id, is_category], "{name}");
    }
    let nulls =
        "SELECT category(NULL), id(NULL), cardinal_id(NULL), is_category(NULL), hash_64(NULL)";
    assert_eq!(sql.rows(nulls).await, [["NULL"; 5]]);
}

#[tokio::test]
async fn name_functions_agree_with_crate() {
    let (_database, mut sql) = client().await;
    for name in ["a-1", "a:b-1+2", "a--1", "a-1-2+3+4", "ä-ö+ü"] {
        let parsed = StreamName::new(name).unwrap();
        let row = sql
            .rows(&format!(
                "SELECT category('{name}'), id('{name}'), cardinal_id('{name}'), hash_64('{name}')"
            ))
            .await
            .swap_remove(0);
        let hash = hash_64(name).to_string();
        assert_eq!(
            row,
            [parsed.category(), parsed.id(), parsed.cardinal_id(), &hash]
        );
    }
}

#[tokio::test]
async fn hash_equals_message_db() {
    let (_database, mut sql) = client().await;
    // The first eight bytes of the MD5, computed with md5sum.
    for (text, hash) in [("", "-3162216497309240828"), ("a", "919145239626757800")] {
        assert_eq!(sql.value(&format!("SELECT hash_64('{text}')")).await, hash);
        assert_eq!(
            sql.value(&format!("SELECT hash_64(value => '{text}')"))
                .await,
            hash
        );
    }
}

#[tokio::test]
async fn category_lock_ends_with_transaction() {
    let (database, mut sql) = client().await;
    let mut other = crate::support::postgres::sql::Sql::as_message_store(database.url()).await;
    sql.run("BEGIN").await;
    let key = sql.value("SELECT acquire_lock('account-1')").await;
    assert_eq!(key, hash_64("account").to_string());
    let free = format!("SELECT pg_try_advisory_lock({key})");
    assert_eq!(other.value(&free).await, "f");
    sql.run("COMMIT").await;
    assert_eq!(other.value(&free).await, "t");
}

#[tokio::test]
async fn version_is_message_db_version() {
    let (_database, mut sql) = client().await;
    assert_eq!(sql.value("SELECT message_store_version()").await, "1.3.0");
}
