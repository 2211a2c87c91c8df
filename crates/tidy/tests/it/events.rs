//! The tables "Log events" in the READMEs of the libraries.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;
use tidy::workspace;

/// Each library with the least number of events that the test must find in its source.
const LIBRARIES: [(&str, usize); 6] = [
    ("dcb-core", 5),
    ("message-store", 5),
    ("postgres-store", 5),
    ("sqlite-store", 3),
    ("store-http", 5),
    ("tsdb", 5),
];

/// The events of a library's source, as level and message.
fn events(library: &str) -> BTreeSet<(String, String)> {
    let call =
        Regex::new(r#"(?s)tracing::(warn|info|error)!\((.*?"\s*,?\s*)\)"#).expect("a pattern");
    let text = Regex::new(r#"(?s)"((?:[^"\\]|\\.)*)"\s*,?\s*$"#).expect("a pattern");
    let broken = Regex::new(r"\\\n\s*").expect("a pattern");
    let source = workspace::root().join("crates").join(library).join("src");
    let mut found = BTreeSet::new();
    for file in workspace::files(&source) {
        let code = fs::read_to_string(&file).expect("a source file");
        for event in call.captures_iter(&code) {
            let message = text.captures(&event[2]);
            let message = message.unwrap_or_else(|| panic!("{}: {}", file.display(), &event[2]));
            let message = broken.replace_all(&message[1], "").into_owned();
            found.insert((event[1].to_owned(), message));
        }
    }
    found
}

/// The rows of the tables in a library's README.
fn rows(library: &str) -> BTreeSet<(String, String)> {
    let page = workspace::root()
        .join("crates")
        .join(library)
        .join("README.md");
    let page = fs::read_to_string(page).expect("a README");
    let row = Regex::new(r"(?m)^\| ([^|]+) \| (warn|info|error) \|").expect("a pattern");
    let rows = row.captures_iter(&page);
    rows.map(|row| (row[2].to_owned(), row[1].to_owned()))
        .collect()
}

#[test]
fn readmes_list_the_events_of_the_libraries() {
    for (library, least) in LIBRARIES {
        let events = events(library);
        assert!(events.len() >= least, "{library}: {events:?}");
        assert_eq!(rows(library), events, "{library}");
    }
}

/// The events that tell an end have the level info, so a library without a directive would only warn.
#[test]
fn demo_server_logs_the_events_of_each_library() {
    let log = workspace::root().join("crates/demo-server/src/log.rs");
    let log = fs::read_to_string(log).expect("the server's log");
    for (library, _) in LIBRARIES {
        let directive = format!("{}=info", library.replace('-', "_"));
        assert!(log.contains(&directive), "{directive} is missing");
    }
}
