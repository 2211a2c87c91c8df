use dcb_core::{
    AnyStore, Bookmark, EventStore as _, Position, Query, ReadOptions, RecordedCommand,
    SequencedEvent, ndjson,
};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;

use super::{Compared, pipe};
use crate::failure::{Failure, Kind};
use crate::progress::Progress;

/// Commands per read.
const PAGE: u64 = 500;

/// The event logs of a move.
pub(super) struct EventsMove {
    pub(super) from: AnyStore,
    pub(super) to: AnyStore,
}

impl EventsMove {
    /// Copies the events that the target lacks. Both logs then have the same positions, because an import
    /// appends in order, and a target is a prefix of its source.
    pub(super) async fn copy(&self) -> Result<u64, Failure> {
        let at = self.to.head().await?;
        let first = ReadOptions::new().after(at).limit(0);
        // The source checks that it has the last event of the target.
        let head = self.from.query(&Query::all(), first).await;
        let head = head.map_err(|failed| {
            let failed = Failure::from(failed);
            match failed.kind {
                Kind::Refused => {
                    failed.in_context("the target has events that the source does not have")
                }
                _ => failed,
            }
        })?;
        let lacking = number(head.head) - number(at);
        let (from, to) = (self.from.clone(), self.to.clone());
        let runtime = Handle::current();
        let importing = runtime.clone();
        let progress = Progress::new("events", Some(lacking));
        let imported = pipe::through(
            move |mut out| {
                let options = ReadOptions::new().after(at);
                let all = Query::all();
                let export = ndjson::export(&from, &all, options, &mut out, |_| {});
                runtime.block_on(export)?;
                Ok(())
            },
            move |input| {
                let report = |so_far: ndjson::Imported| progress.set(so_far.events);
                let import = ndjson::import(&to, input, ndjson::ImportOptions::new(), report);
                Ok(importing.block_on(import)?)
            },
        );
        Ok(imported.await?.events)
    }

    /// Compares both logs up to the head of the target, and the tracked positions if the source ends there.
    pub(super) async fn compare(&self) -> Result<Compared, Failure> {
        let through = number(self.to.head().await?);
        let mut hash = Sha256::new();
        self.compare_events(through, &mut hash).await?;
        self.compare_commands(through, &mut hash).await?;
        let tracked = self.from.all_tracked().await?;
        // Read after the tracked positions: they only increase with new events.
        let behind = number(self.from.head().await?).saturating_sub(through);
        if behind == 0 {
            if self.to.all_tracked().await? != tracked {
                return Err(Failure::refused(
                    "the tracked positions of the two logs differ",
                ));
            }
            for tracking in tracked {
                hash.update(format!("{} {}\n", tracking.position(), tracking.source()));
            }
        }
        Ok(Compared {
            through,
            behind,
            sha256: hex::encode(hash.finalize()),
        })
    }

    async fn compare_events(&self, through: u64, hash: &mut Sha256) -> Result<(), Failure> {
        let (all, options) = (Query::all(), ReadOptions::new().limit(through));
        let mut source = self.from.query_stream(&all, options).await?;
        let mut target = self.to.query_stream(&all, options).await?;
        let progress = Progress::new("compared", Some(through));
        for position in 1..=through {
            let source = source.next().await.transpose()?;
            let target = target.next().await.transpose()?;
            let (source, target) = (line(source)?, line(target)?);
            if source != target {
                return Err(Failure::refused(format!(
                    "the event at position {position} is not the same in both logs"
                )));
            }
            hash.update(source);
            progress.set(position);
        }
        Ok(())
    }

    async fn compare_commands(&self, through: u64, hash: &mut Sha256) -> Result<(), Failure> {
        let last = Position::new(through);
        let mut after = None;
        loop {
            let source = commands(&self.from, after, last).await?;
            if commands(&self.to, after, last).await? != source {
                let reason = "the commands of the two logs differ after position";
                return Err(Failure::refused(format!(
                    "{reason} {}",
                    Position::number_or_zero(after)
                )));
            }
            let Some(end) = source.last() else {
                return Ok(());
            };
            after = Some(end.position());
            source
                .iter()
                .for_each(|command| hash.update(format!("{command:?}\n")));
        }
    }
}

/// The next commands whose events begin at `last` or before.
async fn commands(
    store: &AnyStore,
    after: Option<Position>,
    last: Option<Position>,
) -> Result<Vec<RecordedCommand>, Failure> {
    let mut commands = store.commands(after, PAGE).await?;
    commands.retain(|command| Some(command.position()) <= last);
    Ok(commands)
}

/// All that a log stores of an event; empty if there is none.
fn line(event: Option<SequencedEvent>) -> Result<Vec<u8>, Failure> {
    let mut line = Vec::new();
    if let Some(event) = event {
        ndjson::write_event(&mut line, &event)?;
    }
    Ok(line)
}

fn number(bookmark: Option<Bookmark>) -> u64 {
    Position::number_or_zero(Bookmark::position_of(bookmark))
}
