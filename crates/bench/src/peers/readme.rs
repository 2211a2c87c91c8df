//! The README's results.

use super::PeersRun;
use super::plan::Question;
use super::questions::question_table;

const BEGIN: &str = "<!-- results -->";
const END: &str = "<!-- end of results -->";

/// The README with the results of a run between its two marks; `None` if it lacks a mark. Each line
/// of the table stands in the page too.
pub fn readme(run: &PeersRun, readme: &str) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let table = question_table(&run.measured, Question::is_in_readme).markdown();
    let text = format!(
        "\
Stores that you could take instead, each in its own process on one machine with {} cores, in turns, with \
durable commits. × is a store's calls per second divided by ours, with its 95 % interval; times are the median \
and the 99th percentile of a call. After races, the log of a store with † contradicts its answers. \
[All {} stores, with the rows](reports/peers.md); [the reports](reports/README.md) have the ratios to the \
bare databases.

{table}",
        run.environment.cores,
        run.measured.participants.len(),
    );
    Some(format!("{before}{BEGIN}\n{text}{END}{after}"))
}
