//! Tests for every backend whose log several processes can share.

pub(crate) mod batches;
mod clearing;
pub(crate) mod foreign_transactions;
mod killed_client;
pub(crate) mod processes;
mod warm;

/// Makes a test of each of these generic functions on PostgreSQL and on SQLite.
macro_rules! on_each_backend {
    ($($test:ident)*) => {
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test::<dcb_core::postgres::PostgresStore>().await;
                }
            )*
        }

        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test::<dcb_core::sqlite::SqliteStore>().await;
                }
            )*
        }
    };
}
pub(crate) use on_each_backend;
