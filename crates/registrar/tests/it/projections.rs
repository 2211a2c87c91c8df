//! Kept projections, on both databases.

use std::time::Duration;

use dcb_core::postgres::{self, PgConnection, PostgresReadModel};
use dcb_core::sqlite::{self, SqliteReadModel, Transaction};
use dcb_core::{
    AnyStore, Event, EventStore as _, HandlerError, ProjectionRunner, Query, SequencedEvent,
    SliceKey, SliceOptions, SlicedRunner,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{TestPlace, each_backend, file, json, printed, refused};

/// Stores the position of each event in a table.
#[derive(Clone)]
struct Fold(&'static str);

impl Fold {
    fn insert(&self, event: &SequencedEvent) -> String {
        format!("INSERT INTO {} VALUES ({})", self.0, event.position())
    }
}

impl sqlite::Handler for Fold {
    fn handle(
        &mut self,
        tables: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        for event in events {
            tables.execute(&self.insert(event), [])?;
        }
        Ok(())
    }

    fn reset(&mut self, _tables: &Transaction<'_>) -> Result<(), HandlerError> {
        Err("only the program resets".into())
    }
}

impl postgres::Handler for Fold {
    async fn handle(
        &mut self,
        tables: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        for event in events {
            let insert = sqlx::AssertSqlSafe(self.insert(event));
            sqlx::query(insert).execute(&mut *tables).await?;
        }
        Ok(())
    }

    async fn reset(&mut self, _tables: &mut PgConnection) -> Result<(), HandlerError> {
        Err("only the program resets".into())
    }
}

/// A log with two tables in the same place.
struct Log {
    place: TestPlace,
    store: AnyStore,
}

impl Log {
    async fn new(place: TestPlace) -> Self {
        let store = AnyStore::open(&place.place).await.expect("a log");
        let log = Self { place, store };
        log.run("CREATE TABLE folded (position bigint)").await;
        log.run("CREATE TABLE sliced (position bigint)").await;
        log
    }

    fn url(&self) -> &str {
        &self.place.place
    }

    fn is_file(&self) -> bool {
        !self.url().starts_with("postgres")
    }

    async fn run(&self, sql: &'static str) {
        if self.is_file() {
            let tables = rusqlite::Connection::open(self.url()).expect("the file");
            tables.execute_batch(sql).expect("done");
        } else {
            use sqlx::Connection as _;
            let mut tables = PgConnection::connect(self.url()).await.expect("the server");
            sqlx::raw_sql(sql).execute(&mut tables).await.expect("done");
        }
    }

    async fn append(&self) {
        let event = Event::builder("Counted").build().expect("an event");
        self.store.append(event).await.expect("appended");
    }

    /// Handles all events, without slices and in four.
    async fn fold(&self) {
        let (store, all) = (self.store.clone(), Query::all());
        let key = SliceKey::by(|event| Some(event.position().to_string()));
        let options = SliceOptions::new().slices(4);
        if self.is_file() {
            let config = || sqlite::Config::file(self.url());
            let model = SqliteReadModel::new(config(), "folded", Fold("folded")).expect("a model");
            let mut runner = ProjectionRunner::new(store.clone(), all.clone(), model);
            runner.catch_up().await.expect("folded");
            let model = sqlite::SlicedReadModel::new(config(), "sliced", 2, Fold("sliced"));
            let runner = SlicedRunner::new(store, all, key, model.expect("a model"));
            runner.options(options).catch_up().await.expect("folded");
        } else {
            let config = postgres::Config::new(self.url());
            let model = PostgresReadModel::new(&config, "folded", Fold("folded")).expect("a model");
            let mut runner = ProjectionRunner::new(store.clone(), all.clone(), model);
            runner.catch_up().await.expect("folded");
            let model = postgres::SlicedReadModel::new(&config, "sliced", 2, Fold("sliced"));
            let runner = SlicedRunner::new(store, all, key, model.expect("a model"));
            runner.options(options).catch_up().await.expect("folded");
        }
    }

    /// The positions in a table.
    async fn positions(&self, table: &str) -> Vec<i64> {
        let sql = format!("SELECT position FROM {table} ORDER BY position");
        if self.is_file() {
            let tables = rusqlite::Connection::open(self.url()).expect("the file");
            let mut statement = tables.prepare(&sql).expect("a statement");
            let rows = statement.query_map([], |row| row.get(0)).expect("rows");
            rows.collect::<Result<_, _>>().expect("positions")
        } else {
            use sqlx::Connection as _;
            let mut tables = PgConnection::connect(self.url()).await.expect("the server");
            let rows = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_all(&mut tables);
            rows.await.expect("positions")
        }
    }

    /// Position and lag of both projections.
    fn listed(&self) -> [Value; 2] {
        let listed = json(&["projections", "list", self.url()]);
        assert_eq!(listed.len(), 2, "{listed:?}");
        assert_eq!(
            (&listed[0]["projection"], &listed[1]["projection"]),
            (&json!("folded"), &json!("sliced"))
        );
        let place = |listed: &Value| json!([listed["position"], listed["behind"]]);
        [place(&listed[0]), place(&listed[1])]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn projections_are_listed_and_start_over() {
    for place in each_backend("projections").await {
        let log = Log::new(place).await;
        for _ in 0..3 {
            log.append().await;
        }
        log.fold().await;
        log.append().await;
        assert_eq!(log.listed(), [json!([3, 1]), json!([3, 1])]);
        let sliced = &json(&["projections", "list", log.url()])[1];
        for (field, value) in [
            ("version", json!(2)),
            ("state", json!("current")),
            ("slices", json!(4)),
            ("parked", json!(0)),
            ("stopped", json!([])),
        ] {
            assert_eq!(sliced[field], value, "{field}");
        }
        let text = printed(&["projections", "list", log.url()]);
        assert!(
            text.starts_with(
                "folded at 3, 1 behind\nsliced version 2 current at 3, 1 behind, 4 slices"
            ),
            "{text}"
        );

        // Each refusal changes nothing.
        let reset = ["projections", "reset", log.url()];
        refused(2, &[&reset[..], &["folded"]].concat());
        refused(
            2,
            &[&reset[..], &["folded", "--keep-state", "--empty", "folded"]].concat(),
        );
        for (arguments, reason) in [
            (&["other", "--keep-state"][..], "no projection other"),
            (&["sliced", "--keep-state"], "no projection sliced"),
            (
                &["sliced", "--version", "1", "--keep-state"],
                "no projection sliced version 1",
            ),
            (
                &["folded", "--empty", "folded", "--empty", "other"],
                "no table other",
            ),
        ] {
            let failed = refused(2, &[&reset[..], arguments].concat());
            assert!(failed.contains(reason), "{failed}");
        }
        assert_eq!(log.listed(), [json!([3, 1]), json!([3, 1])]);
        assert_eq!(log.positions("folded").await, [1, 2, 3]);

        printed(&[&reset[..], &["folded", "--empty", "folded"]].concat());
        assert_eq!(log.listed(), [json!([0, 4]), json!([3, 1])]);
        assert_eq!(log.positions("folded").await, [0_i64; 0]);
        printed(&[&reset[..], &["sliced", "--version", "2", "--keep-state"]].concat());
        assert_eq!(log.listed(), [json!([0, 4]), json!([0, 4])]);
        log.fold().await;
        assert_eq!(log.listed(), [json!([4, 0]), json!([4, 0])]);
        assert_eq!(log.positions("folded").await, [1, 2, 3, 4]);
        // The state was kept, so each event is there again.
        assert_eq!(log.positions("sliced").await, [1, 1, 2, 2, 3, 3, 4]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_runs_goes_on_from_the_beginning() {
    for place in each_backend("running").await {
        let log = Log::new(place).await;
        for _ in 0..3 {
            log.append().await;
        }
        log.fold().await;
        let (store, url, is_file) = (log.store.clone(), log.url().to_owned(), log.is_file());
        let service = tokio::spawn(async move {
            let all = Query::all();
            if is_file {
                let config = sqlite::Config::file(&url);
                let model =
                    SqliteReadModel::new(config, "folded", Fold("folded")).expect("a model");
                ProjectionRunner::new(store, all, model).run().await
            } else {
                let config = postgres::Config::new(&url);
                let model = PostgresReadModel::new(&config, "folded", Fold("folded"));
                ProjectionRunner::new(store, all, model.expect("a model"))
                    .run()
                    .await
            }
        });
        log.append().await;
        while log.positions("folded").await.len() < 4 {
            sleep(Duration::from_millis(20)).await;
        }
        printed(&[
            "projections",
            "reset",
            log.url(),
            "folded",
            "--empty",
            "folded",
        ]);
        // The next event shows the service that the checkpoint has moved.
        log.append().await;
        while log.positions("folded").await.len() < 5 {
            assert!(!service.is_finished(), "{:?}", service.await);
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(log.positions("folded").await, [1, 2, 3, 4, 5]);
        service.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_in_another_place_is_named() {
    let log = Log::new(file()).await;
    let tables = Log::new(file()).await;
    log.append().await;
    let model = SqliteReadModel::new(sqlite::Config::file(tables.url()), "folded", Fold("folded"));
    let mut runner =
        ProjectionRunner::new(log.store.clone(), Query::all(), model.expect("a model"));
    runner.catch_up().await.expect("folded");
    log.append().await;
    let list = ["projections", "list", tables.url()];
    let listed = &json(&list)[0];
    assert_eq!(
        (&listed["position"], &listed["behind"]),
        (&json!(1), &Value::Null)
    );
    let listed = &json(&[&list[..], &["--log", log.url()]].concat())[0];
    assert_eq!(listed["behind"], 1);
    let failed = refused(4, &["projections", "list", "/no/such/file"]);
    assert!(failed.contains("there is no store"), "{failed}");
}
