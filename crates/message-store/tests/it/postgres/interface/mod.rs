//! The SQL interface of Message DB 1.3.0, used as its clients use it: by the role `message_store`,
//! which finds the functions by their bare names.

mod functions;
mod reads;
mod shape;
mod writes;

use local_postgres::Database;

use crate::support::postgres::fresh_store;
use crate::support::postgres::sql::Sql;

/// A session of the role in a store of its own.
async fn client() -> (Database, Sql) {
    let (database, store) = fresh_store().await;
    message_store::MessageStore::close(&store).await;
    let sql = Sql::as_message_store(database.url()).await;
    (database, sql)
}
