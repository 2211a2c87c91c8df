use super::number::{significant, whole};
use super::table::Table;
use super::view::View;
use crate::result::FloorFigures;

/// The floors of all rows, once per number of callers. A floor is measured next to each of its
/// rows, so the table has the median, lowest and highest of its times.
pub fn floors_table(view: &View<'_>) -> Table {
    let mut floors: Vec<Vec<&FloorFigures>> = Vec::new();
    for floor in view
        .rows()
        .filter_map(|row| row.figures())
        .flat_map(|figures| &figures.floors)
    {
        match floors.iter_mut().find(|same| is_same(same[0], floor)) {
            Some(same) => same.push(floor),
            None => floors.push(vec![floor]),
        }
    }
    let columns = [
        ("Floor", false),
        ("One op", false),
        ("Callers", true),
        ("Beside rows", true),
        ("ns/op, median", true),
        ("ns/op, lowest–highest", true),
        ("Ops/s", true),
        ("B/op", true),
        ("Allocations", true),
    ];
    Table {
        columns: columns
            .map(|(heading, number)| (heading.to_owned(), number))
            .to_vec(),
        rows: floors.iter().map(|same| cells(same)).collect(),
    }
}

fn is_same(one: &FloorFigures, other: &FloorFigures) -> bool {
    one.name == other.name && one.what == other.what && one.concurrency == other.concurrency
}

fn cells(same: &[&FloorFigures]) -> Vec<String> {
    let first = same[0];
    let mut times: Vec<f64> = same.iter().map(|floor| floor.mean_ns.value).collect();
    times.sort_by(f64::total_cmp);
    // The mean of the two middle values. If the number of values is odd, both are the same one.
    let median = f64::midpoint(times[(times.len() - 1) / 2], times[times.len() / 2]);
    vec![
        first.name.clone(),
        first.what.clone(),
        first.concurrency.to_string(),
        same.len().to_string(),
        significant(median),
        format!(
            "{}–{}",
            significant(times[0]),
            significant(times[times.len() - 1])
        ),
        whole(1e9 / median),
        whole(first.bytes_per_op),
        whole(first.allocations_per_op),
    ]
}
