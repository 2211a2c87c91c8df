use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dcb_core::postgres::GoLog;
use dcb_core::{EventStore as _, ndjson};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::database::Database;
use crate::failure::Failure;
use crate::import::{self, KurrentDb, Library, Lines, Rules, Source, Table};
use crate::output::Output;
use crate::place::{Access, Place};
use crate::progress::Progress;

/// Append events that a log has exported, or that another program has stored. Importing again, also
/// after an interruption, appends only what is missing. A missing file or schema is created.
#[derive(clap::Args)]
pub(crate) struct Import {
    /// The log.
    place: Place,
    /// A file, - for the standard input, or the database with the tables.
    input: PathBuf,
    /// The form of the input.
    #[arg(long, value_enum, default_value_t = Format::Export)]
    format: Format,
    /// The rules that give events their types and tags: a TOML file, see the README.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// The name under which the log tracks what it has imported [default: the format with the name
    /// of the file or the database].
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// The table of `eventsourcing`.
    #[arg(long, default_value = "stored_events")]
    table: String,
    /// Read everything, apply the rules, count and list faults, but append nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The forms of events.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The lines of `events export`, with commands and tracked positions.
    Export,
    /// NDJSON with `type`, `data`, `id`, `time`, `stream`, `tags` and `metadata`.
    Ndjson,
    /// JSON of KurrentDB or EventStoreDB.
    Kurrentdb,
    /// The table messages of Message DB.
    MessageDb,
    /// The table mt_events of Marten.
    Marten,
    /// The table domain_event_entry of Axon Framework.
    Axon,
    /// The table of the Python library eventsourcing.
    Eventsourcing,
    /// The table events of go-crablet.
    GoCrablet,
}

#[derive(Serialize)]
struct Imported {
    events: u64,
}

impl fmt::Display for Imported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} events are in the log", self.events)
    }
}

impl Import {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let library = match &self.format {
            Format::Export => {
                let events = self.import_export().await?;
                return Ok(output.print(&Imported { events })?);
            }
            Format::GoCrablet => {
                let events = self.import_go_crablet().await?;
                return Ok(output.print(&Imported { events })?);
            }
            Format::Ndjson => {
                let (input, name) = self.named_file()?;
                return self.with_rules(Lines::new(input), &name, output).await;
            }
            Format::Kurrentdb => {
                let (input, name) = self.named_file()?;
                return self.with_rules(KurrentDb::new(input), &name, output).await;
            }
            Format::MessageDb => Library::MessageDb,
            Format::Marten => Library::Marten,
            Format::Axon => Library::Axon,
            Format::Eventsourcing => Library::Eventsourcing {
                table: self.table.clone(),
            },
        };
        let database = self.database()?;
        let name = self.name(&database.name());
        let table = Table::open(&database, &library).await?;
        self.with_rules(table, &name, output).await
    }

    async fn with_rules(
        &self,
        mut source: impl Source,
        name: &str,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let rules = match &self.rules {
            Some(path) => Rules::read(path)?,
            None => Rules::default(),
        };
        if self.dry_run {
            let (counts, faults) = import::dry_run(&mut source, &rules).await?;
            output.print(&counts)?;
            output.flush()?;
            return match faults.is_empty() {
                true => Ok(()),
                false => Err(Failure::input(faults.join("\n"))),
            };
        }
        let store = self.place.events(Access::Create).await?;
        let imported = import::import(&mut source, name, &rules, &store).await;
        store.close().await;
        Ok(output.print(&imported?)?)
    }

    /// The name under which the log tracks the import.
    fn name(&self, input: &str) -> String {
        let format = self.format.to_possible_value();
        let format = format.map_or_else(String::new, |value| value.get_name().to_owned());
        let default = || format!("{format} {input}");
        self.source.clone().unwrap_or_else(default)
    }

    /// The input with its name, which has a hash of the first line: another file of the same name is
    /// another source.
    fn named_file(&self) -> Result<(Box<dyn BufRead + Send>, String), Failure> {
        if self.source.is_none() && self.input.as_os_str() == "-" {
            let reason =
                "name what the standard input is with --source, so that the log can track it";
            return Err(Failure::input(reason));
        }
        let mut input = open_input(&self.input)?;
        let begin = input.fill_buf()?;
        let line = begin
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let hash = hex::encode(&Sha256::digest(line)[..4]);
        let file = self.input.file_name().unwrap_or_default();
        let name = self.name(&format!("{} {hash}", file.to_string_lossy()));
        Ok((input, name))
    }

    fn database(&self) -> Result<Database, Failure> {
        let url = self.input.to_string_lossy();
        url.parse::<Database>().map_err(Failure::input)
    }

    async fn import_export(&self) -> Result<u64, Failure> {
        self.refuse_rules()?;
        let input = open_input(&self.input)?;
        let store = self.place.events(Access::Create).await?;
        let progress = Progress::new("events", None);
        let report = |so_far: ndjson::Imported| progress.set(so_far.events);
        let options = ndjson::ImportOptions::new();
        let imported = ndjson::import(&store, input, options, report).await;
        store.close().await;
        Ok(imported?.events)
    }

    async fn import_go_crablet(&self) -> Result<u64, Failure> {
        self.refuse_rules()?;
        let database = self.database()?;
        let mut log = GoLog::new(database.url);
        if let Some(schema) = database.schema {
            log = log.schema(schema);
        }
        if let Some(source) = &self.source {
            log = log.source(source);
        }
        let store = self.place.events(Access::Create).await?;
        let progress = Progress::new("events", None);
        let imported = log
            .import(&store, |so_far| progress.set(so_far.events))
            .await;
        store.close().await;
        Ok(imported?.events)
    }

    fn refuse_rules(&self) -> Result<(), Failure> {
        match self.rules.is_some() || self.dry_run {
            true => Err(Failure::input(
                "--rules and --dry-run are for other formats: these events have their tags already",
            )),
            false => Ok(()),
        }
    }
}

/// Opens a file, or the standard input for `-`.
pub(crate) fn open_input(path: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(stdin())));
    }
    let opened = File::open(path);
    let file = opened.map_err(|failed| Failure::input(format!("{}: {failed}", path.display())))?;
    Ok(Box::new(BufReader::new(file)))
}
