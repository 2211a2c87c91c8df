//! The page of the peers has the same columns for every row, even if a peer is missing.

use crate::common::{FIRST, Folders, allocating, yielding};
use bench::pages::SERIES_PEERS;
use bench::{Floor, Row, Settings, measure};
use std::fs;

#[test]
fn missing_peer_is_printed_in_its_columns() {
    let folders = Folders::new();
    let settings = Settings {
        pages: vec![SERIES_PEERS],
        ..folders.settings(FIRST)
    };
    let run = measure("series_peers", settings, |target| {
        target.facts().set("VictoriaMetrics", "missing here");
        let peer = Floor::new("Prometheus", "the same request", &yielding());
        for table in ["peers_queries", "peers_writes"] {
            let row = Row::new(table, "1 series")
                .on_the_dataset()
                .events(5)
                .fills(table)
                .floor(&peer);
            target.row(row, &allocating());
        }
        Ok(())
    })
    .unwrap();
    for row in &run.rows {
        let peer = &row.figures().unwrap().floors[0];
        assert!(0 < peer.p50_ns && peer.p50_ns <= peer.p99_ns, "{peer:?}");
    }

    let page = fs::read_to_string(folders.reports().join("series-peers.md")).unwrap();
    assert!(
        page.contains("| VictoriaMetrics | missing here |"),
        "{page}"
    );
    // Besides two times and a ratio, writes have a rate.
    for (table, columns, missing) in [("peers_queries", 10, 3), ("peers_writes", 13, 4)] {
        let start = format!("| {table} |");
        let row = page.lines().find(|line| line.starts_with(&start)).unwrap();
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), columns, "{row}");
        let found = cells.iter().filter(|cell| **cell == "missing").count();
        assert_eq!(found, missing, "{row}");
    }
}
