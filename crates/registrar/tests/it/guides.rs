//! The commands of the guides.

use std::net::TcpListener;
use std::path::Path;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use unmet::need;

use crate::session;
use crate::support::{TestPlace, database, printed};

const TABLE: &str = "
CREATE TABLE events (seq bigserial PRIMARY KEY, id uuid NOT NULL, kind text NOT NULL, order_id text NOT NULL,
    body jsonb NOT NULL, at timestamptz NOT NULL);
INSERT INTO events (id, kind, order_id, body, at) VALUES
    ('018f3c5e-0000-7000-8000-000000000001', 'Placed', 'o1', '{\"customer\": {\"id\": \"c7\"}}', '2020-01-02 03:04:05Z'),
    ('018f3c5e-0000-7000-8000-000000000002', 'shipped_v1', 'o1', '{}', '2020-01-03 03:04:05Z'),
    ('018f3c5e-0000-7000-8000-000000000003', 'shipped_v1', 'o2', '{}', '2020-01-04 03:04:05Z')";

/// A write as a client of Message DB sends it.
const WRITE: &str = "
SET search_path TO message_store, public;
SELECT write_message(gen_random_uuid()::varchar, 'account-123', 'Deposited', '{\"amount\": 11}')";

async fn run_sql(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url)
        .await
        .expect("the server answers");
    let statements = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    statements
        .execute(&mut connection)
        .await
        .expect("the statements run");
}

/// The folder of the server's client programs.
async fn client_programs(url: &str) -> Option<String> {
    let mut connection = PgConnection::connect(url)
        .await
        .expect("the server answers");
    let folder = sqlx::query_scalar("SELECT setting FROM pg_config() WHERE name = 'BINDIR'");
    let folder: String = folder.fetch_one(&mut connection).await.expect("a folder");
    let is_there = |name: &str| Path::new(&folder).join(name).exists();
    need(
        "psql",
        (is_there("psql") && is_there("pg_dump")).then_some(folder),
    )
}

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener
        .local_addr()
        .expect("an address")
        .port()
        .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn four_newcomers_reach_a_running_service() {
    let (orders, shop) = (database("orders").await, database("shop").await);
    let messages = message_db("newcomer").await;
    let Some(programs) = client_programs(&orders.place).await else {
        return;
    };
    run_sql(&orders.place, TABLE).await;
    let port = free_port();
    let replaced = [
        ("postgres://localhost/orders", orders.place.as_str()),
        ("postgres://localhost/shop", &shop.place),
        ("postgres://localhost/message_store", &messages.place),
        ("127.0.0.1:8080", &format!("127.0.0.1:{port}")),
        ("registrar serve", &format!("registrar serve --port {port}")),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let text = guide("GUIDES.md");
    let commands = session::run(&text, folder.path(), &programs, &replaced);
    assert!(commands > 15, "{commands}");
}

/// A database with a Message DB that has one message.
async fn message_db(hint: &str) -> TestPlace {
    let database = database(hint).await;
    let fixture = guide("../message-store/tests/it/postgres/adoption/message_db.sql");
    run_sql(&database.place, &fixture).await;
    run_sql(&database.place, WRITE).await;
    database
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_db_is_taken_over_as_the_guide_says() {
    let messages = message_db("message_db").await;
    let Some(programs) = client_programs(&messages.place).await else {
        return;
    };
    // `createdb` takes no URL, so the copy is there already.
    let copy = database("adopted").await;
    let replaced = [
        ("createdb -h localhost adopted", "true"),
        ("postgres://localhost/adopted", copy.place.as_str()),
        ("postgres://localhost/message_store", &messages.place),
    ];
    let text = guide("../message-store/src/guide/message_db.md");
    let folder = tempfile::tempdir().expect("a folder");
    let commands = session::run(&text, folder.path(), &programs, &replaced);
    assert!(commands >= 5, "{commands}");
    let read = ["messages", "read", &copy.place];
    assert!(printed(&read).contains("Deposited"));
    // The clients of the real database go on.
    run_sql(&messages.place, WRITE).await;
    assert_eq!(
        printed(&["messages", "read", &messages.place])
            .matches("Deposited")
            .count(),
        2
    );
}

/// A file by its path from this crate's folder. Read by the test, so that the package does not need it.
fn guide(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).expect("the file")
}
