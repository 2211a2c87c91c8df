//! `peers`: runs the stores that a reader would take instead of ours, and ours, in turns. The whole run
//! in the form `quick` or `full` is saved beside those of `cargo bench`, and writes `reports/peers.md`, `reports/growth.md` and the
//! README's results; any other prints the page.

use bench::peers::{
    Form, PEERS, Peer, PeersRun, build, grow, growth_page, growth_tables, markdown, measure, readme,
};
use bench::{Alone, BoxError, Environment, reports_folder, runs_folder};
use clap::Parser;
use local_postgres::{LocalPostgres, Options};
use peer_protocol::Dataset;
use std::path::PathBuf;
use std::time::SystemTime;

/// Measures our stores beside their peers.
#[derive(Parser)]
struct Arguments {
    /// How large the run is.
    #[arg(long, value_enum, default_value = "quick")]
    form: Form,
    /// Only these stores, by their short names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only the stores whose growth is measured, on logs of these sizes: prints the table.
    #[arg(long, value_delimiter = ',')]
    growth: Vec<usize>,
    /// Measure nothing: write the page of this saved run again.
    #[arg(long)]
    saved: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let arguments = Arguments::parse();
    if let Some(file) = &arguments.saved {
        return publish(&PeersRun::load(file)?);
    }
    let peers = chosen(&arguments.only)?;
    if !arguments.growth.is_empty() {
        return print_growth(peers, arguments.growth, arguments.form).await;
    }
    let is_whole = arguments.only.is_empty() && arguments.form != Form::Smoke;
    // The figures of a smoke run mean nothing, so it need not wait.
    let _alone = is_whole
        .then(|| Alone::on_this_machine("peers"))
        .transpose()?;
    let run = run(&peers, arguments.form).await?;
    if is_whole {
        let file = runs_folder().join(format!("peers-{}.json", run.started));
        run.save(&file)?;
        eprintln!("{} written", file.display());
        publish(&run)?;
    } else {
        print!("{}", markdown(&run));
    }
    match run.measured.failures_of_ours().as_slice() {
        [] => Ok(()),
        failures => Err(failures.join("; ").into()),
    }
}

async fn print_growth(
    mut peers: Vec<Peer>,
    mut sizes: Vec<usize>,
    form: Form,
) -> Result<(), BoxError> {
    sizes.sort_unstable();
    if sizes[0] < Dataset::LEAST_EVENTS {
        return Err(format!("a log has at least {} events", Dataset::LEAST_EVENTS).into());
    }
    peers.retain(|peer| peer.grows);
    let _alone = Alone::on_this_machine("peers")?;
    let server = start_server().await;
    let programs = build(&peers);
    let grown = grow(&programs, form, &sizes, &server, |step| eprintln!("{step}")).await;
    print!("{}", growth_tables(&grown));
    Ok(())
}

/// The peers with these short names; without names, all.
fn chosen(keys: &[String]) -> Result<Vec<Peer>, BoxError> {
    let is_asked = |peer: &&Peer| keys.is_empty() || keys.iter().any(|key| key == peer.key);
    let peers: Vec<Peer> = PEERS.iter().filter(is_asked).copied().collect();
    if peers.len() < keys.len() {
        let keys: Vec<_> = PEERS.iter().map(|peer| peer.key).collect();
        return Err(format!("--only takes {}", keys.join(", ")).into());
    }
    Ok(peers)
}

async fn run(peers: &[Peer], form: Form) -> Result<PeersRun, BoxError> {
    let started = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)?
        .as_secs();
    let environment = Environment::capture();
    let server = start_server().await;
    let measured = measure(peers, form, &server, |step| eprintln!("{step}")).await;
    let facts = server.iter();
    let facts = facts.map(|server| ("PostgreSQL".to_owned(), server.description().to_owned()));
    let given: Vec<String> = std::env::args().skip(1).collect();
    let command = format!(
        "cargo run --release -p bench --bin peers -- {}",
        given.join(" ")
    );
    Ok(PeersRun {
        measured,
        profile: form.text(),
        environment,
        started,
        command: command.trim_end_matches(" -- ").to_owned(),
        facts: facts.collect(),
    })
}

/// Writes the page, and the README's results.
fn publish(run: &PeersRun) -> Result<(), BoxError> {
    let reports = reports_folder();
    for (name, page) in [("peers.md", markdown(run)), ("growth.md", growth_page(run))] {
        std::fs::write(reports.join(name), page)?;
        eprintln!("reports/{name} written");
    }
    let file = reports.join("../README.md");
    match readme(run, &std::fs::read_to_string(&file)?) {
        Some(text) => std::fs::write(&file, text)?,
        None => return Err("README.md has no marks for its results".into()),
    }
    eprintln!("README.md written");
    Ok(())
}

/// A server of a version that every peer accepts; else the one that can be had, and the peers that need
/// a newer one say so.
async fn start_server() -> Result<LocalPostgres, String> {
    let newer = Options {
        version: Some(17),
        ..Options::default()
    };
    let started = match LocalPostgres::start(newer).await {
        Ok(server) => Ok(server),
        Err(_) => LocalPostgres::start(Options::default()).await,
    };
    started.map_err(|error| format!("there is no PostgreSQL: {error}"))
}
