use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use postgres_store::{Hosts, Limits, ListeningSession, Pool, Server, WriterConnection, connect};
use sqlx::{PgConnection, Row as _};

use super::{dead, host, pair, url};

const LIMIT: Duration = Duration::from_secs(20);

/// A host that takes connections and never answers.
struct Silent {
    listener: TcpListener,
    connections: Vec<TcpStream>,
}

impl Silent {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        Self {
            listener,
            connections: Vec::new(),
        }
    }

    fn host(&self) -> String {
        self.listener.local_addr().expect("an address").to_string()
    }

    /// The number of connections so far.
    fn attempts(&mut self) -> usize {
        while let Ok((connection, _)) = self.listener.accept() {
            self.connections.push(connection);
        }
        self.connections.len()
    }
}

async fn is_standby(connection: &mut PgConnection) -> bool {
    let asked = sqlx::raw_sql("SELECT pg_is_in_recovery()").fetch_one(connection);
    asked.await.expect("an answer").get(0)
}

/// Opens a session of each kind at the primary.
async fn open_each_kind(url: &str, silent: &mut Silent) {
    let server = Server::new(url, "test", false).expect(url);
    let mut connection = connect(server.hosts()).await.expect(url);
    assert!(!is_standby(&mut connection).await, "{url}");
    let pool = Pool::new(server.reader(LIMIT).hosts, Limits::new(2, LIMIT));
    let mut lease = pool.acquire().await.expect(url);
    assert!(!is_standby(&mut lease).await, "{url}");
    drop(lease);
    let mut writer = WriterConnection::new(server.writer(LIMIT));
    writer.connect().await.expect(url);
    let table = sqlx::query("CREATE TEMPORARY TABLE t (n int)");
    writer.insert(table).await.expect(url);
    let hosts = server.listener().expect("no pooler");
    // A standby refuses LISTEN.
    ListeningSession::open(&hosts, &["news".into()], None)
        .await
        .expect(url);
    // The first host that was found is asked first from now on.
    let before = silent.attempts();
    connect(&hosts).await.expect(url);
    assert_eq!(silent.attempts(), before, "{url}");
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_find_the_primary_among_the_hosts() {
    let Some((primary, standby)) = pair().await else {
        return;
    };
    let mut silent = Silent::start();
    let (primary, standby) = (host(primary.url()), host(standby.url()));
    let (dead, silent_host) = (dead(), silent.host());
    for hosts in [
        vec![primary, standby],
        vec![standby, primary],
        vec![&dead, standby, primary],
        vec![&silent_host, primary],
        vec![&silent_host, standby, &dead, primary],
    ] {
        for wanted in [
            "",
            "?target_session_attrs=read-write",
            "?target_session_attrs=primary",
        ] {
            open_each_kind(&url(&hosts, &format!("postgres{wanted}")), &mut silent).await;
        }
    }
    let lone = url(&[standby], "postgres?target_session_attrs=read-write");
    for hosts in [url(&[standby, &dead], "postgres"), lone] {
        let server = Server::new(&hosts, "test", false).expect("a URL");
        let failed = connect(server.hosts()).await.expect_err("no primary");
        let text = failed.to_string();
        assert!(text.contains(&format!("{standby} is a standby")), "{text}");
        assert!(text.contains("no host that takes writes"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_find_the_kind_of_host_that_they_want() {
    let Some((primary, standby)) = pair().await else {
        return;
    };
    let hosts = [host(primary.url()), host(standby.url())];
    for (wanted, expected) in [
        ("any", [true, true]),
        ("read-write", [true, false]),
        ("primary", [true, false]),
        ("read-only", [false, true]),
        ("standby", [false, true]),
        ("prefer-standby", [true, true]),
    ] {
        let url = url(&hosts, &format!("postgres?target_session_attrs={wanted}"));
        let replicas = Server::replicas(&url, "test", false).expect("a URL");
        for (replica, serves) in replicas.iter().zip(expected) {
            let hosts: &Hosts = replica.hosts();
            let opened = connect(hosts).await;
            assert_eq!(opened.is_ok(), serves, "{wanted} {hosts:?}");
        }
    }
}

/// A primary that takes no writes for now still answers reads, unless the URL wants more.
#[tokio::test(flavor = "multi_thread")]
async fn read_only_primary_is_the_last_choice() {
    let Some((primary, standby)) = pair().await else {
        return;
    };
    let mut connection = connect(
        Server::new(primary.url(), "test", false)
            .expect("a URL")
            .hosts(),
    )
    .await
    .expect("a session");
    for sql in [
        "ALTER SYSTEM SET default_transaction_read_only = on",
        "SELECT pg_reload_conf()",
    ] {
        sqlx::raw_sql(sql)
            .execute(&mut connection)
            .await
            .expect(sql);
    }
    drop(connection);
    let hosts = [host(standby.url()), host(primary.url())];
    let server = Server::new(&url(&hosts, "postgres"), "test", false).expect("a URL");
    // The server takes a moment to reload its settings.
    let read_only = async || {
        let mut connection = connect(server.hosts()).await.expect("the primary");
        assert!(!is_standby(&mut connection).await);
        let shown = sqlx::raw_sql("SHOW transaction_read_only").fetch_one(&mut connection);
        shown.await.expect("a setting").get::<String, _>(0) == "on"
    };
    while !read_only().await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let strict = url(&hosts, "postgres?target_session_attrs=read-write");
    let strict = Server::new(&strict, "test", false).expect("a URL");
    let failed = connect(strict.hosts()).await.expect_err("no writes");
    assert!(failed.to_string().contains("takes no writes"), "{failed}");
}
