//! Queries: the engine, the printing of the answer and HTTP together.

use crate::data::{ALL, BUCKETS, FEW, MANY, START_MS};
use crate::servers::{Database, Servers, path, seconds};
use bench::load::{Exchange, HttpConnection};
use bench::{BoxError, Goal, Op, Outcome, Row, Target};
use std::sync::Arc;
use tokio::sync::Mutex;

const STEP_MS: i64 = 15_000;

/// The time to reach, as a share of the time of a peer in the same run.
#[derive(Clone, Copy)]
struct Share {
    of: Database,
    at_most: f64,
    /// The times for which the share was set.
    reason: &'static str,
}

#[derive(Clone, Copy)]
struct Question {
    operation: &'static str,
    query: &'static str,
    /// A range query; false for an instant query at the end of the data.
    over_range: bool,
    /// The series that the query reads.
    reads: usize,
    /// The series of the answer; more if they change between steps.
    found: usize,
    goal: Option<Share>,
}

#[rustfmt::skip] // A question and its goal per line.
const QUESTIONS: [Question; 8] = [
    question("sum of rates", "sum by (instance) (rate(bucket[5m]))", BUCKETS, 10)
        .within(Database::VictoriaMetrics, 0.88, "60 ms where VictoriaMetrics takes 68 ms"),
    question("quantile of a histogram", "histogram_quantile(0.9, sum by (le, path) (rate(bucket[5m])))", BUCKETS, 4)
        .within(Database::VictoriaMetrics, 0.83, "60 ms where VictoriaMetrics takes 72 ms"),
    question("averages of an hour", "avg_over_time(x[1h])", FEW, FEW)
        .within(Database::VictoriaMetrics, 0.71, "10 ms where VictoriaMetrics takes 14 ms"),
    question("samples of an hour", "x[1h]", FEW, FEW).at_the_end()
        .within(Database::Prometheus, 0.86, "2.5 ms where Prometheus takes 2.9 ms"),
    question("selector", "y", MANY, MANY),
    question("quantiles of ten minutes", "quantile_over_time(0.9, x[10m])", FEW, FEW),
    question("join of many to one", "y * on (instance) group_left () x", FEW + MANY, MANY),
    question("greatest five", "topk(5, rate(bucket[5m]))", BUCKETS, 5),
];

/// A range query that reads and finds this many series.
const fn question(
    operation: &'static str,
    query: &'static str,
    reads: usize,
    found: usize,
) -> Question {
    Question {
        operation,
        query,
        over_range: true,
        reads,
        found,
        goal: None,
    }
}

pub(crate) fn declare(target: &mut Target, servers: &Arc<Servers>) {
    for question in QUESTIONS {
        let kind = if question.over_range {
            "over the range"
        } else {
            "at the end of the range"
        };
        let mut row = Row::new(question.operation, &format!("{} series", question.reads))
            .on_the_dataset()
            .events(question.found as u64)
            .one_op(format!("`{}` {kind}", question.query))
            .fills("peers_queries");
        for (database, peer) in servers.floors(|database| ask(servers, database, question)) {
            row = row.floor(&peer);
            if let Some(share) = question.goal.filter(|share| share.of == database) {
                row = row.goal(Goal::at_most_times(&peer, share.at_most).peer(share.reason));
            }
        }
        target.row(row, &ask(servers, Database::Ours, question));
    }
}

fn ask(servers: &Arc<Servers>, database: Database, question: Question) -> Op {
    let op = Op::given(servers, move |servers| async move {
        let path = question.path(servers.data.end_ms());
        let mut connection = HttpConnection::open(servers.address(database).await?).await?;
        let exchange = Exchange::get(path);
        question.check(&connection.ask(&exchange).await?.body)?;
        Ok((Mutex::new(connection), exchange))
    });
    op.call(|state, _| async move {
        let (connection, exchange) = &*state;
        let answer = connection.lock().await.ask(exchange).await?;
        match answer.status.as_u16() {
            200 => Ok(Outcome::Success),
            status => Err(format!("answered {status}").into()),
        }
    })
}

impl Question {
    /// The same as an instant query at the end of the data.
    const fn at_the_end(mut self) -> Self {
        self.over_range = false;
        self
    }

    /// Sets the goal.
    const fn within(mut self, of: Database, at_most: f64, reason: &'static str) -> Self {
        self.goal = Some(Share {
            of,
            at_most,
            reason,
        });
        self
    }

    fn path(self, end_ms: i64) -> String {
        // Only VictoriaMetrics knows this parameter; the others ignore it.
        let common = [("query", self.query), ("nocache", "1")];
        let [start, end, step] = [START_MS, end_ms, STEP_MS].map(seconds);
        if self.over_range {
            let times = [("start", &*start), ("end", &*end), ("step", &*step)];
            path("query_range", &[&common[..], &times[..]].concat())
        } else {
            path("query", &[&common[..], &[("time", &*end)]].concat())
        }
    }

    /// Checks the number of series, so that no side wins with an answer of another size.
    fn check(self, body: &[u8]) -> Result<(), BoxError> {
        let answer: serde_json::Value = serde_json::from_slice(body)?;
        let series = answer["data"]["result"].as_array().map_or(0, Vec::len);
        // The greatest five can be others at each step.
        match self.found..=ALL {
            found if found.contains(&series) => Ok(()),
            _ => Err(format!("{} has {series} series", self.query).into()),
        }
    }
}
