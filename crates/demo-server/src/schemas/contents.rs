//! `schema check --contents` and `schema rebuild`: the data that the stores derive from events and
//! messages, and find them by.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use dcb_core::{KeyCheck, postgres as events, sqlite as event_files};
use message_store::sqlite as message_files;

use crate::settings::Settings;
use crate::stores::{EVENTS, MESSAGES, events_config};

type Printed = Result<String, Box<dyn Error>>;

/// Compares everything, and reports all differences.
pub(super) async fn check(settings: &Settings) -> Printed {
    let mut faults = Vec::new();
    match &settings.database_url {
        Some(url) => {
            // PostgreSQL derives what finds a message, by indexes that it keeps itself.
            faults.extend(super::check(url).await.err().map(|fault| fault.to_string()));
            let checked = events::check_keys(&events_config(url), report).await?;
            faults.extend(fault_of_events(&checked));
        }
        None => {
            let (log, messages) = files(settings)?;
            let checked = event_files::check_keys(&event_files::Config::file(log), report)?;
            faults.extend(fault_of_events(&checked));
            for file in messages {
                faults.extend(fault_of_messages(&file)?);
            }
        }
    }
    if faults.is_empty() {
        return Ok("all events have their keys, and all messages their categories\n".to_owned());
    }
    Err(faults.join("\n").into())
}

/// Derives everything again.
pub(super) async fn rebuild(settings: &Settings) -> Printed {
    match &settings.database_url {
        Some(url) => events::rebuild_keys(&events_config(url)).await?,
        None => {
            let (log, messages) = files(settings)?;
            event_files::rebuild_keys(&event_files::Config::file(log))?;
            for file in messages {
                message_files::rebuild_columns(&message_files::Config::file(file))?;
            }
        }
    }
    Ok("all events have their keys, and all messages their categories\n".to_owned())
}

fn fault_of_events(checked: &KeyCheck) -> Option<String> {
    let first = checked
        .first_missing
        .map(|first| format!(", the first at position {first}"));
    (!checked.is_clean()).then(|| {
        format!(
            "events: {} keys are missing{}, and {} belong to no event; demo-server schema rebuild \
             corrects them",
            checked.missing,
            first.unwrap_or_default(),
            checked.stray
        )
    })
}

fn fault_of_messages(file: &Path) -> Result<Option<String>, Box<dyn Error>> {
    let config = message_files::Config::file(file);
    let checked = message_files::check_columns(&config, |so_far| {
        progress(so_far.messages, so_far.total_messages, "messages")
    })?;
    Ok((checked.wrong > 0).then(|| {
        format!(
            "messages: {} in {} have the category or correlation of others; demo-server schema rebuild \
             corrects them",
            checked.wrong,
            file.display()
        )
    }))
}

fn report(so_far: &KeyCheck) -> ControlFlow<()> {
    progress(so_far.events, so_far.total_events, "events")
}

/// Progress goes to standard error, so that the result can be piped.
fn progress(done: u64, total: u64, what: &str) -> ControlFlow<()> {
    eprintln!("{done} of {total} {what}");
    ControlFlow::Continue(())
}

/// The file of the events, and those of the messages.
fn files(settings: &Settings) -> Result<(PathBuf, Vec<PathBuf>), Box<dyn Error>> {
    let folder = settings
        .folder()
        .ok_or("name the data folder with --data")?;
    let mut messages = Vec::new();
    let entries = std::fs::read_dir(folder.join(MESSAGES))
        .map_err(|failed| format!("{}: {failed}", folder.join(MESSAGES).display()))?;
    for entry in entries {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "sqlite")
        {
            messages.push(path);
        }
    }
    messages.sort();
    Ok((folder.join(EVENTS), messages))
}
