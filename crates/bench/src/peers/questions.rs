//! The table with one line per question of a reader who chooses a store.

use super::measure::{Figures, Measured, Participant, RowFigures};
use super::page::{figures, latencies, marked_name, ratio};
use super::plan::{Question, questions};
use super::roster::PEERS;
use crate::report::Table;
use crate::report::number::whole;

/// How the rate of a peer compares with ours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Faster,
    Unclear,
    Slower,
    Failed,
}

impl Beside {
    fn of(figures: Result<&Figures, String>) -> Self {
        match figures.map(|figures| figures.ratio) {
            Ok(Some(ratio)) if ratio.low > 1.0 => Self::Faster,
            Ok(Some(ratio)) if ratio.high < 1.0 => Self::Slower,
            Ok(Some(_)) => Self::Unclear,
            Ok(None) | Err(_) => Self::Failed,
        }
    }
}

/// One line per wanted question: ours, then the other stores by how they compare with it.
pub(super) fn question_table(measured: &Measured, wanted: impl Fn(&Question) -> bool) -> Table {
    let asked = questions();
    let asked = asked.iter().filter(|question| wanted(question));
    let headings = [
        "You need",
        "Ours: calls/s; p50, p99",
        "Faster than ours",
        "No clear difference",
        "Slower than ours",
    ];
    let lines = asked.filter_map(|question| line(measured, question));
    Table::of_text(&headings, lines.collect())
}

/// `None` if the row has no store.
fn line(measured: &Measured, question: &Question) -> Option<Vec<String>> {
    let row = measured.rows.iter().find(|row| answers(row, question))?;
    if row.peers.is_empty() {
        return None;
    }
    let mut others = others(measured, question);
    others.sort_by(|(_, one), (_, other)| rate(row, other).total_cmp(&rate(row, one)));
    let listed = |beside: Beside| {
        let same = others
            .iter()
            .filter(|(_, key)| Beside::of(figures(row, key)) == beside);
        let texts = same.map(|(name, key)| match figures(row, key) {
            Ok(figures) => {
                let [p50, p99] = latencies(figures);
                format!("{name} {}; {p50}, {p99}", ratio(figures))
            }
            Err(words) if row.left_out(key).is_some() => format!("{name} {words}"),
            Err(_) => format!("{name} failed"),
        });
        texts.collect::<Vec<_>>()
    };
    let ours = question.ground.ours()?;
    let ours = match figures(row, ours) {
        Ok(figures) => {
            let [p50, p99] = latencies(figures);
            format!("{}; {p50}, {p99}", whole(figures.rate.value))
        }
        Err(reason) => reason,
    };
    let mut unclear = listed(Beside::Unclear);
    unclear.extend(listed(Beside::Failed));
    let cells = [listed(Beside::Faster), unclear, listed(Beside::Slower)];
    let mut line = vec![question.text.to_owned(), ours];
    line.extend(cells.map(|texts| match texts.is_empty() {
        true => "none".to_owned(),
        false => texts.join("<br>"),
    }));
    Some(line)
}

/// The names and keys of the stores that ran and are not ours.
fn others<'a>(measured: &'a Measured, question: &Question) -> Vec<(String, &'a str)> {
    let is_other = |peer: &&Participant| {
        let known = PEERS.iter().find(|known| known.key == peer.key);
        peer.ground == question.ground && known.is_none_or(|known| !known.is_ours())
    };
    let peers = measured.participants.iter().filter(is_other);
    let named = peers.filter_map(|peer| Some((marked_name(peer)?, peer.key.as_str())));
    named.collect()
}

fn rate(row: &RowFigures, key: &str) -> f64 {
    figures(row, key).map_or(0.0, |figures| figures.rate.value)
}

fn answers(row: &RowFigures, question: &Question) -> bool {
    row.ground == question.ground
        && !row.plan.is_sustained
        && row.plan.operation == question.operation
        && row.plan.callers == question.callers
}
