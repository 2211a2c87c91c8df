//! The table `crates/ERRORS.md` has every error that a user of the crates can meet, and its columns
//! agree with the code: the variants and their docs with the sources, the texts and
//! `is_transient` with errors that the tests construct.

mod examples;

use std::collections::BTreeSet;
use std::fs;

use tidy::errors::{ErrorType, Row, Section, public_types, sections};
use tidy::workspace;

use self::examples::Example;

const YES: &str = "yes";
const NO: &str = "no";
const AS_SOURCE: &str = "as its source";

/// The start of the files whose errors are left out.
const LEFT_OUT: [&str; 8] = [
    // The author of a benchmark meets them.
    "bench/",
    // The author of a program for another store meets it.
    "peer-protocol/",
    // Faults that the referee finds in a store.
    "referee/",
    // The domain of the examples. No other crate needs it.
    "course-enrollment/",
    // Faults that the checker of the conformance suite finds in a store.
    "dcb-conformance/",
    // Lines for an operator, which say what to do themselves.
    "demo-server/",
    // Sources of the stores' errors, whose rows say what to do.
    "postgres-store/",
    "sqlite-store/",
];

fn table() -> Vec<Section> {
    let page = workspace::root().join("crates/ERRORS.md");
    sections(&fs::read_to_string(page).expect("the page"))
}

/// The error types of the sources, except those left out.
fn sources() -> Vec<ErrorType> {
    let mut types = public_types(&workspace::root().join("crates"));
    types.retain(|found| !LEFT_OUT.iter().any(|start| found.file.starts_with(start)));
    types
}

/// The type that the section names.
fn source_of<'s>(section: &Section, sources: &'s [ErrorType]) -> &'s ErrorType {
    let source = sources
        .iter()
        .find(|source| source.file == section.file && source.name == section.name());
    source.unwrap_or_else(|| panic!("{} is not in {}", section.path, section.file))
}

#[test]
fn table_has_each_public_error_type_and_each_variant() {
    let (table, sources) = (table(), sources());
    let named: BTreeSet<(&str, &str)> = table
        .iter()
        .map(|section| (section.file.as_str(), section.name()))
        .collect();
    let declared: BTreeSet<(&str, &str)> = sources
        .iter()
        .map(|source| (source.file.as_str(), source.name.as_str()))
        .collect();
    assert_eq!(named, declared, "the sections and the error types");
    for section in &table {
        let mut rows: Vec<&str> = section
            .rows
            .iter()
            .map(|row| row.variant.as_str())
            .collect();
        rows.dedup();
        let variants = &source_of(section, &sources).variants;
        let variants: Vec<&str> = variants.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(rows, variants, "the rows and variants of {}", section.path);
    }
}

#[tokio::test]
async fn texts_and_kinds_are_those_of_real_errors() {
    let examples = examples::all().await;
    for section in table() {
        let made: Vec<&Example> = examples
            .iter()
            .filter(|example| example.path == section.path)
            .collect();
        let expected: Vec<String> = made.iter().map(|example| example.row()).collect();
        assert_eq!(
            made.len(),
            section.rows.len(),
            "{} needs the rows\n{}",
            section.path,
            expected.join("\n")
        );
        for (example, row) in made.into_iter().zip(&section.rows) {
            assert_agree(&section, example, row);
        }
    }
}

fn assert_agree(section: &Section, example: &Example, row: &Row) {
    let context = format!("{}, expected {}", section.path, example.row());
    assert_eq!(row.variant, example.variant, "{context}");
    match row.text.strip_suffix('…') {
        Some(start) => assert!(example.text.starts_with(start), "{context}"),
        None => assert_eq!(row.text, example.text, "{context}"),
    }
    match (row.transient.as_str(), example.is_transient) {
        (AS_SOURCE, _) | (YES | NO, None) => {}
        (kind, is_transient) => assert_eq!(Some(kind == YES), is_transient, "{context}"),
    }
}

/// "Try again" stands where the same call may succeed later, and nowhere else: in the advice, and in
/// the texts.
#[test]
fn advice_stands_in_the_docs_and_agrees_with_the_kind() {
    let (table, sources) = (table(), sources());
    for section in &table {
        let source = source_of(section, &sources);
        for row in &section.rows {
            let context = format!("{}::{}: {}", section.path, row.variant, row.advice);
            let variant = source.variants.iter().find(|one| one.name == row.variant);
            let doc = variant.expect("a variant").doc.to_lowercase();
            let advice = row.advice.to_lowercase();
            assert!(
                !advice.is_empty() && doc.contains(&advice),
                "{context}\n{doc}"
            );
            assert!(fits(row, &advice), "{context}\n{}", row.transient);
        }
    }
}

/// Whether the advice fits the kind of the row.
fn fits(row: &Row, advice: &str) -> bool {
    const AGAIN: &str = "try again";
    match row.transient.as_str() {
        YES => advice.contains(AGAIN),
        NO => {
            let text = row.text.to_lowercase();
            ![advice, text.as_str()]
                .iter()
                .any(|said| said.contains(AGAIN))
                && !advice.contains("later")
        }
        AS_SOURCE => ["source", "inner error", "fault"]
            .iter()
            .any(|word| advice.contains(word)),
        _ => false,
    }
}
