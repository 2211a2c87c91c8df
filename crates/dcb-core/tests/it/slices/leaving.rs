//! The end of a member, beside an operator's call.

use dcb_core::EventStore as _;

use super::ground::Ground as _;
use super::postgres::Postgres;

/// A member gives its slices back after its work, beside what comes next. Slow writes make the two meet.
#[tokio::test(flavor = "multi_thread")]
async fn version_is_thrown_away_while_its_member_leaves() {
    let ground = Postgres::new().await;
    ground.append(50, 50).await;
    ground
        .run(
            "CREATE FUNCTION @slowly() RETURNS trigger LANGUAGE plpgsql AS \
                'BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END'; \
             CREATE TRIGGER slowly AFTER UPDATE OR DELETE ON @projection_slice \
                EXECUTE FUNCTION @slowly(); \
             CREATE TRIGGER slowly AFTER DELETE ON @projection_member EXECUTE FUNCTION @slowly()",
        )
        .await;
    for _ in 0..10 {
        ground.runner(1).catch_up().await.unwrap();
        ground.discard(1).await;
    }
    ground.assert_complete(1).await;
    ground.store().close().await;
}
