//! The store in PostgreSQL: the SQL interface of Message DB, and an engine that shares its tables.
//!
//! Services in any language write through the functions of the interface while this engine writes
//! to the same tables. Both see each other's messages in one global order.
//!
//! Writes of one process share commits. A caller that finds the writer free commits at once;
//! requests that arrive during a commit form the next batch. A batch is one round trip and one
//! durable commit. It takes the locks of its categories, as every SQL writer does, but does not
//! wait for a lock that another transaction holds. Only the requests that need this lock wait, on a
//! second connection.
//!
//! Reads have their own connections and never wait for a writer.
//!
//! Codemap:
//! - `store` is the public type.
//! - A write passes `write` (the caller's side), `request`, a commit queue, `plan` (which requests
//!   are sent), `batch` (encode the parameters) and `writer`. There are two queues: the second one
//!   waits for category locks.
//! - A read passes `read`, `statements` and `row` (decode).
//! - `schema` installs and verifies the files of `schema/message_store/postgres`, `adoption` takes
//!   over those of Message DB, and `interface_role` has the rights of its clients; `installation`
//!   does the same without a store. `namespaces` gives each namespace a schema.
//!
//! Invariants:
//! - Every writer, by SQL or by this crate, takes the lock of the category, then announces itself,
//!   and only then draws global positions. A reader of all messages first reads the last drawn
//!   position, then the announcements, and then the messages in a newer snapshot. Any other order
//!   could miss a message (tests: `tests/it/postgres/order.rs`). The SQL functions `announce`,
//!   `horizon` and `get_all_messages` and `import` in this module follow this order.
//! - The store never resends a batch whose outcome it does not know. It ends the lost session first
//!   and then looks the messages up by id (tests: `tests/it/postgres/crash.rs`).

mod adoption;
mod adoption_bodies;
mod adoption_obstacles;
mod batch;
mod checkpoint;
mod config;
mod counters;
mod design;
mod error;
mod execute;
mod import;
mod installation;
mod interface_role;
mod json;
mod listing;
mod lock_holders;
mod namespaces;
mod numbers;
mod plan;
mod read;
mod replica;
mod request;
mod retention;
mod row;
mod schema;
mod sequence;
mod statements;
mod store;
mod write;
mod writer;

pub use config::Config;
pub use installation::{check_schema, install_schema, schema_sql};
pub use namespaces::PostgresNamespaces;
pub use postgres_store::{ConnectError, ConnectErrorKind, HostError, ServerConfig};
pub use store::PostgresStore;
