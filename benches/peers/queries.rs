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

const QUESTIONS: [Question; 8] = [
    Question {
        operation: "sum of rates",
        query: "sum by (instance) (rate(bucket[5m]))",
        over_range: true,
        reads: BUCKETS,
        found: 10,
        goal: Some(Share {
            of: Database::VictoriaMetrics,
            at_most: 0.88,
            reason: "60 ms where VictoriaMetrics takes 68 ms",
        }),
    },
    Question {
        operation: "quantile of a histogram",
        query: "histogram_quantile(0.9, sum by (le, path) (rate(bucket[5m])))",
        over_range: true,
        reads: BUCKETS,
        found: 4,
        goal: Some(Share {
            of: Database::VictoriaMetrics,
            at_most: 0.83,
            reason: "60 ms where VictoriaMetrics takes 72 ms",
        }),
    },
    Question {
        operation: "averages of an hour",
        query: "avg_over_time(x[1h])",
        over_range: true,
        reads: FEW,
        found: FEW,
        goal: Some(Share {
            of: Database::VictoriaMetrics,
            at_most: 0.71,
            reason: "10 ms where VictoriaMetrics takes 14 ms",
        }),
    },
    Question {
        operation: "samples of an hour",
        query: "x[1h]",
        over_range: false,
        reads: FEW,
        found: FEW,
        goal: Some(Share {
            of: Database::Prometheus,
            at_most: 0.86,
            reason: "2.5 ms where Prometheus takes 2.9 ms",
        }),
    },
    Question {
        operation: "selector",
        query: "y",
        over_range: true,
        reads: MANY,
        found: MANY,
        goal: None,
    },
    Question {
        operation: "quantiles of ten minutes",
        query: "quantile_over_time(0.9, x[10m])",
        over_range: true,
        reads: FEW,
        found: FEW,
        goal: None,
    },
    Question {
        operation: "join of many to one",
        query: "y * on (instance) group_left () x",
        over_range: true,
        reads: FEW + MANY,
        found: MANY,
        goal: None,
    },
    Question {
        operation: "greatest five",
        query: "topk(5, rate(bucket[5m]))",
        over_range: true,
        reads: BUCKETS,
        found: 5,
        goal: None,
    },
];

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
    let servers = Arc::clone(servers);
    let setup = move || {
        let servers = Arc::clone(&servers);
        async move {
            let path = question.path(servers.data.end_ms());
            let mut connection = HttpConnection::open(servers.address(database).await?).await?;
            let exchange = Exchange::get(path);
            question.check(&connection.ask(&exchange).await?.body)?;
            Ok::<_, BoxError>((Mutex::new(connection), exchange))
        }
    };
    Op::setup(setup).call(|state, _| async move {
        let (connection, exchange) = &*state;
        let answer = connection.lock().await.ask(exchange).await?;
        match answer.status.as_u16() {
            200 => Ok(Outcome::Success),
            status => Err(format!("answered {status}").into()),
        }
    })
}

impl Question {
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
