//! A row of stores whose logs do not fit into the memory of their processes.

use super::build::Program;
use super::form::Form;
use super::measure::RowFigures;
use super::memory_group::MemoryGroup;
use super::plan::RowPlan;
use super::roster::{Ground, Place};
use super::running::start_with_memory;
use super::turns::row;
use crate::report::number::bytes;

/// Fills the store of each peer that keeps its log in a folder, starts it again with this much memory, and
/// lets them take turns.
pub(super) fn scarce_row(
    ground: Ground,
    plan: RowPlan,
    memory_bytes: u64,
    form: Form,
    programs: &[&Program],
    progress: &impl Fn(&str),
) -> RowFigures {
    let killed = format!("killed for memory at {}", bytes(memory_bytes as f64));
    let (mut failed, mut left_out) = (Vec::new(), Vec::new());
    // The groups are removed after the processes in them have ended.
    let (mut groups, mut running) = (Vec::new(), Vec::new());
    for (peer, program) in programs {
        let Ok(program) = program else { continue };
        let key = peer.key.to_owned();
        if peer.place != Place::Folder {
            left_out.push((key, "its log is its memory".to_owned()));
            continue;
        }
        progress(&format!("{}: load and start with little memory", peer.key));
        let group = match MemoryGroup::new(peer.key) {
            Ok(group) => group,
            Err(reason) => {
                left_out.push((key, reason));
                continue;
            }
        };
        match start_with_memory(peer, program, form.scarce_content(), &group, memory_bytes) {
            Ok(started) => running.push(started),
            Err(_) if group.kills() > 0 => {
                left_out.push((key, format!("{killed} as it opened its log")));
            }
            Err(reason) => failed.push((key, Err(reason))),
        }
        groups.push((peer.key, group));
    }
    let mut row = row(ground, plan, form, &mut running, ground.ours());
    row.peers.extend(failed);
    let is_killed = |key: &str| {
        let mut groups = groups.iter();
        groups.any(|(of, group)| *of == key && group.kills() > 0)
    };
    row.peers.retain(|(key, figures)| {
        let is_killed = figures.is_err() && is_killed(key);
        if is_killed {
            left_out.push((key.clone(), killed.clone()));
        }
        !is_killed
    });
    row.left_out = left_out;
    row
}
