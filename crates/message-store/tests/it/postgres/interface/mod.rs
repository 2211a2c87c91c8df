//! The SQL interface of Message DB 1.3.0, used like its clients do: with the role `message_store`,
//! which finds the functions by unqualified names.

mod functions;
mod reads;
mod shape;
mod writes;

use local_postgres::Database;

use crate::support::postgres::fresh_store;
use crate::support::postgres::sql::Sql;

/// A session with that role in a new store.
async fn client() -> (Database, Sql) {
    let (database, store) = fresh_store().await;
    message_store::MessageStore::close(&store).await;
    let sql = Sql::as_message_store(database.url()).await;
    (database, sql)
}
