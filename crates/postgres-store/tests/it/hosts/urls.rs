use local_postgres::Durability;
use postgres_store::{Failure, Server, connect, failure};
use sqlx::PgConnection;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use super::{dead, host, url};

fn server(url: &str) -> Result<Server, String> {
    Server::new(url, "test", false)
}

async fn open(url: &str) -> Result<PgConnection, sqlx::Error> {
    connect(server(url).expect(url).hosts()).await
}

#[test]
fn malformed_hosts_are_refused_by_name() {
    for (hosts, expected) in [
        (
            "a:1,b:x",
            "host 2: its port is not a number from 1 to 65535",
        ),
        ("a:0,b", "host 1: its port is not a number from 1 to 65535"),
        (
            "a:65536,b",
            "host 1: its port is not a number from 1 to 65535",
        ),
        ("a,,b", "host 2: its name is empty"),
        ("a,", "host 2: its name is empty"),
        (
            "a,[::1",
            "host 2: the bracket of the IPv6 address is not closed",
        ),
        ("a,[b]:1", "host 2: the brackets hold no IPv6 address"),
        ("a,[::1]1", "host 2: a port must follow the IPv6 address"),
    ] {
        let refused = server(&url(&[hosts], "d")).err();
        assert_eq!(refused.as_deref(), Some(expected), "{hosts}");
    }
}

#[test]
fn malformed_parameters_are_refused_by_name() {
    for (parameters, expected) in [
        ("port=1,2,3", "3 ports for 2 hosts"),
        ("host=a,b,c&port=1,2", "2 ports for 3 hosts"),
        ("host=a,", "host 2: its name is empty"),
        (
            "target_session_attrs=master",
            "target_session_attrs must be any, ",
        ),
        (
            "target_session_attrs=standby",
            "target_session_attrs must be read-write, primary or any",
        ),
        (
            "target_session_attrs=prefer-standby",
            "target_session_attrs must be read-write, ",
        ),
        (
            "load_balance_hosts=yes",
            "load_balance_hosts must be disable or random",
        ),
    ] {
        let refused = server(&url(&["a", "b"], &format!("d?{parameters}"))).err();
        let refused = refused.expect(parameters);
        assert!(refused.starts_with(expected), "{parameters}: {refused}");
    }
    for accepted in [
        "any",
        "read-write",
        "read-only",
        "primary",
        "standby",
        "prefer-standby",
    ] {
        let url = url(&["a", "b"], &format!("d?target_session_attrs={accepted}"));
        let replicas = Server::replicas(&url, "test", false).expect(accepted);
        assert_eq!(replicas.len(), 2);
    }
}

/// An unencoded `/` puts the end of a password among the path, and its start among the hosts.
#[tokio::test]
async fn no_message_has_the_password() {
    for url in [
        "postgres://u:secret/word@a,b:x/d",
        "postgres://u:secret@a:1,b:secret/d",
        "postgres://u:secret@a,b/d?target_session_attrs=secret",
        "postgres://u:secret@a,b/d?port=1,secret&load_balance_hosts=secret",
    ] {
        let refused = server(url).err().expect(url);
        assert!(!refused.contains("secret"), "{refused}");
    }
    let (first, second) = (dead(), dead());
    let failed = open(&url(&[&first, &second], "d"))
        .await
        .expect_err("no host");
    let text = failed.to_string();
    assert!(!text.contains("secret"), "{text}");
    assert!(
        text.contains(&format!("{first} refused the connection")),
        "{text}"
    );
    assert!(
        text.contains(&format!("{second} refused the connection")),
        "{text}"
    );
    assert_eq!(failure(&failed), Failure::NotSent);
    let shown = format!(
        "{:?}",
        server(&url(&["a", "b"], "d")).expect("a URL").hosts()
    );
    assert_eq!(shown, "a:5432,b:5432");
}

#[tokio::test]
async fn hosts_and_ports_are_read_as_libpq_reads_them() {
    let shared = local_postgres::shared_with(Durability::Relaxed).await;
    let shared = shared.expect("a PostgreSQL");
    let dead = dead();
    let (_, dead_port) = dead.split_once(':').expect("a port");
    let host = host(shared.url());
    let (name, port) = host.split_once(':').expect("a port");
    let mut urls = vec![
        url(&[&dead, host], "postgres"),
        url(&[host, &dead], "postgres"),
        url(
            &["a"],
            &format!("postgres?host={name},{name}&port={dead_port},{port}"),
        ),
        url(&["a"], &format!("postgres?host={name},{name}&port={port}")),
        url(
            &["a"],
            &format!("postgres?hostaddr={name},{name}&port={port}"),
        ),
        url(&[name, "localhost"], &format!("postgres?port={port}")),
        url(&[name, name], &format!("postgres?port={dead_port},{port}")),
        url(
            &[&dead, host],
            "postgres?target_session_attrs=read-write&load_balance_hosts=random",
        ),
        url(&[host], "postgres?target_session_attrs=read-write"),
        format!("postgresql://postgres@{dead},{host}/postgres"),
    ];
    if let Some(socket) = shared.socket_url() {
        let folder = socket.split_once("host=").expect("a folder").1;
        urls.push(url(
            &["a"],
            &format!("postgres?host={name},{folder}&port={dead_port},{port}"),
        ));
        let folder = folder.replace('/', "%2F");
        urls.push(url(&[&dead, &format!("{folder}:{port}")], "postgres"));
    }
    for url in urls {
        let opened = open(&url).await;
        opened.unwrap_or_else(|failed| panic!("{url}: {failed}"));
    }
}

#[tokio::test]
async fn ipv6_address_in_brackets_is_an_address() {
    let listener = TcpListener::bind("[::1]:0").await.ok();
    let Some(listener) = unmet::need("ipv6", listener) else {
        return;
    };
    let shared = local_postgres::shared_with(Durability::Relaxed).await;
    let server = host(shared.expect("a PostgreSQL").url()).to_owned();
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(&server).await.expect("the server");
            tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
        }
    });
    for hosts in [vec![address.as_str()], vec![&dead(), &address]] {
        open(&url(&hosts, "postgres")).await.expect("a session");
    }
}

/// A name may be wrong on one host and the password on another, but a database that no host has is no
/// failure that passes.
#[tokio::test]
async fn refusal_of_all_hosts_is_no_transient_failure() {
    let shared = local_postgres::shared_with(Durability::Relaxed).await;
    let host = host(shared.expect("a PostgreSQL").url());
    let missing = open(&url(&[host, host], "there_is_none")).await;
    let missing = missing.expect_err("no database");
    assert_eq!(failure(&missing), Failure::Refused, "{missing}");
    let dead = dead();
    let other = open(&url(&[&dead, host], "there_is_none")).await;
    let other = other.expect_err("no database");
    assert_eq!(failure(&other), Failure::NotSent, "{other}");
    let text = other.to_string();
    assert!(
        text.contains("there_is_none") && text.contains(&dead),
        "{text}"
    );
}
