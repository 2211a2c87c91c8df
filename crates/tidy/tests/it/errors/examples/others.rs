use std::io;

use dcb_core::MemoryStore;
use dcb_grpc::{ServeError, Server};
use group_commit::SubmitError;
use local_postgres::{LocalPostgres, Options, Source};

use super::Example;

pub(super) async fn all() -> Vec<Example> {
    let submits = submits()
        .into_iter()
        .map(|error| Example::new("group_commit::SubmitError", &error, None));
    let servers = servers().await.into_iter();
    let servers = servers.map(|error| Example::new("local_postgres::Error", &error, None));
    let grpc = grpc().into_iter();
    let grpc = grpc.map(|error| Example::new("dcb_grpc::ServeError", &error, None));
    submits.chain(servers).chain(grpc).collect()
}

fn grpc() -> [ServeError; 2] {
    let refused = || match Server::new(MemoryStore::new()).tls(b"no certificate", b"no key") {
        Err(ServeError::Tls(cause)) => cause,
        other => panic!("{:?}", other.err()),
    };
    [ServeError::Tls(refused()), ServeError::Listener(refused())]
}

fn submits() -> [SubmitError<io::Error>; 8] {
    let cause = || io::Error::other("broken pipe");
    [
        SubmitError::Full,
        SubmitError::Closed,
        SubmitError::TimedOut,
        SubmitError::OutcomeUnknown,
        SubmitError::Refused(cause()),
        SubmitError::Failed(cause()),
        SubmitError::Unknown(cause()),
        SubmitError::Panicked,
    ]
}

async fn servers() -> Vec<local_postgres::Error> {
    use local_postgres::Error;
    let reason = || "permission denied".to_owned();
    vec![
        Error::UnknownSource {
            value: "docker".to_owned(),
        },
        Error::UnknownVersion {
            value: "new".to_owned(),
        },
        Error::BadSetting {
            name: "a b".to_owned(),
            reason: "a name has letters, digits, points and underscores only",
        },
        unavailable().await,
        Error::NoneAvailable {
            missing: Vec::new(),
        },
        Error::NotOurs { from: Source::Url },
        Error::Restart { reason: reason() },
        Error::Standby { reason: reason() },
        Error::TemplateInUse {
            template: "loaded".to_owned(),
        },
        Error::CreateDatabase {
            name: "bookings".to_owned(),
            reason: reason(),
        },
    ]
}

/// Only the crate itself can construct the reason, so this asks for a version that no machine has.
async fn unavailable() -> local_postgres::Error {
    let options = Options {
        source: Some(Source::Installed),
        version: Some(1),
        ..Options::default()
    };
    let started = LocalPostgres::start(options).await;
    started.expect_err("PostgreSQL has no version 1")
}
