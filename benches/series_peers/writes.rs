//! Remote writes: requests with samples of many series that are newer than all before.

use crate::servers::{Database, Servers};
use bench::load::{Content, Exchange, HttpConnection};
use bench::{Op, Outcome, Row, Target};
use std::sync::Arc;
use tokio::sync::Mutex;
use tsdb::wire::remote_write;
use tsdb::{Error, Labels, Sample};

const SERIES: usize = 1_000;
/// Samples of a series in a request.
const SAMPLES: i64 = 5;
/// The time between two samples of a series.
const INTERVAL_MS: i64 = 1_000;

pub(crate) fn declare(target: &mut Target, servers: &Arc<Servers>) {
    let mut row = Row::new("remote write", &format!("{SERIES} series"))
        .on_the_dataset()
        .events(SERIES as u64 * SAMPLES as u64)
        .one_op(format!(
            "one request with {SAMPLES} samples of each of {SERIES} series"
        ))
        .fills("peers_writes");
    for (_, peer) in servers.floors(|database| write(servers, database)) {
        row = row.floor(&peer);
    }
    target.row(row, &write(servers, Database::Ours));
}

struct Writer {
    connection: HttpConnection,
    series: Vec<Labels>,
    next_ms: i64,
    /// The request that is sent next, made before the clock starts.
    request: Exchange,
}

fn write(servers: &Arc<Servers>, database: Database) -> Op {
    let op = Op::given(servers, move |servers| async move {
        let connection = HttpConnection::open(servers.address(database).await?).await?;
        Ok(Mutex::new(Writer {
            connection,
            series: (0..SERIES).map(labels).collect::<Result<_, _>>()?,
            next_ms: servers.data.end_ms(),
            request: Exchange::get("/"),
        }))
    });
    op.before(|writer, _| async move {
        writer.lock().await.prepare();
        Ok(())
    })
    .call(|writer, _| async move {
        let mut writer = writer.lock().await;
        let Writer {
            connection,
            request,
            ..
        } = &mut *writer;
        let answer = connection.ask(request).await?;
        match answer.status.is_success() {
            true => Ok(Outcome::Success),
            false => Err(format!("answered {}", answer.status).into()),
        }
    })
}

impl Writer {
    fn prepare(&mut self) {
        let first_ms = self.next_ms + INTERVAL_MS;
        self.next_ms += SAMPLES * INTERVAL_MS;
        let times: Vec<i64> = (0..SAMPLES)
            .map(|index| first_ms + index * INTERVAL_MS)
            .collect();
        let samples: Vec<Vec<Sample>> = (0..self.series.len())
            .map(|number| {
                let value = |time: i64| (time / INTERVAL_MS % 997 * number as i64) as f64 / 100.0;
                times
                    .iter()
                    .map(|time| Sample::new(*time, value(*time)))
                    .collect()
            })
            .collect();
        let body = remote_write::encode(self.series.iter().zip(samples.iter().map(Vec::as_slice)));
        self.request = Exchange::post("/api/v1/write", body).content(Content::REMOTE_WRITE);
    }
}

fn labels(number: usize) -> Result<Labels, Error> {
    let host = format!("host-{:03}", number / 10);
    let labels = [
        ("host", host),
        ("job", "node".to_owned()),
        ("cpu", (number % 10).to_string()),
    ];
    Ok(Labels::new("cpu_seconds_total", labels)?)
}
