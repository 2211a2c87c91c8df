//! However a process ends, its server ends too, and the server's folder is removed.

use std::{env, fs, path::Path, thread, time::Duration};

use crate::common::{Served, folder_of, is_running, pid_of, serve, wait_until};
use local_postgres::{LocalPostgres, Options, Source};

async fn nothing_is_left_after(signal: &str) {
    let mut served = Served::start(serve().env("POSTGRES_SOURCE", "installed"));
    let (pid, folder) = (pid_of(&served.url).await, folder_of(&served.url).await);
    assert!(is_running(pid) && folder.exists());
    served.signal(signal);
    served.process.wait().expect("the example ends");
    wait_until("the server has ended", || !is_running(pid));
    wait_until("the folder is removed", || !folder.exists());
}

#[tokio::test]
async fn kill_9_leaves_nothing() {
    nothing_is_left_after("-KILL").await;
}

#[tokio::test]
async fn ctrl_c_leaves_nothing() {
    nothing_is_left_after("-INT").await;
}

#[tokio::test]
async fn terminate_leaves_nothing() {
    nothing_is_left_after("-TERM").await;
}

/// The kills fall before, during and after the creation of the folder. `initdb` outlives a killed
/// parent, and may write into the folder during its removal.
#[test]
fn process_killed_during_a_start_leaves_nothing() {
    let pauses_ms = (1..15).step_by(2).chain([50, 100, 300, 500, 800]);
    for pause_ms in pauses_ms {
        let mut process = serve()
            .env("POSTGRES_SOURCE", "installed")
            .spawn()
            .expect("it runs");
        let prefix = format!("local-postgres-{}-", process.id());
        thread::sleep(Duration::from_millis(pause_ms));
        process.kill().expect("a process of ours");
        process.wait().expect("the example ends");
        wait_until("the folder is removed", || !has_entry_like(&prefix));
    }
}

fn has_entry_like(prefix: &str) -> bool {
    let entries = fs::read_dir(env::temp_dir()).expect("a temporary folder");
    entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
}

/// A power cut ends the watchdog too: the folder stays, and no process holds its lock.
#[tokio::test]
async fn start_removes_folders_left_by_a_power_cut() {
    let options = Options {
        source: Some(Source::Installed),
        ..Options::default()
    };
    let server = LocalPostgres::start(options.clone())
        .await
        .expect("PostgreSQL is installed");
    let live = folder_of(server.url()).await;
    let abandoned = live.with_file_name(format!("local-postgres-{}-abandoned", std::process::id()));
    make_abandoned(&abandoned, &live);

    let other = LocalPostgres::start(options)
        .await
        .expect("PostgreSQL is installed");
    assert!(!abandoned.exists(), "{} is left", abandoned.display());
    assert!(live.exists(), "a live server lost its folder");
    drop(other);
}

fn make_abandoned(folder: &Path, model: &Path) {
    use std::os::unix::fs::{MetadataExt as _, chown};
    fs::create_dir(folder).expect("a folder");
    fs::write(folder.join("lock"), "").expect("a lock");
    let owner = fs::metadata(model).expect("the live folder").uid();
    chown(folder, Some(owner), None).expect("the right to give it away");
}
