//! Compares each statement that is built with its reviewed text in `tests/golden`. After an intended change,
//! `UPDATE_GOLDEN=1 cargo test -p dcb-core --lib golden` rewrites them.

use std::path::PathBuf;

use super::*;

const SHAPES: [(Shape, &str); Shape::ALL.len()] = [
    (Shape::All, "all"),
    (Shape::Type, "type"),
    (Shape::Types, "types"),
    (Shape::Tag, "tag"),
    (Shape::Probes, "probes"),
    (Shape::TypesInRange, "types_in_range"),
    (Shape::TagInRange, "tag_in_range"),
    (Shape::ProbesInRange, "probes_in_range"),
];

/// Every statement that is built from parts, with the name of its golden file.
fn built_statements(statements: &Statements) -> Vec<(String, SqlStr)> {
    let mut all = vec![("read_together".to_owned(), statements.read_together.clone())];
    for (shape, name) in SHAPES {
        all.push((format!("read_{name}"), statements.read(shape, false)));
        all.push((
            format!("read_{name}_backwards"),
            statements.read(shape, true),
        ));
        if Shape::COUNTED.contains(&shape) {
            all.push((format!("extent_{name}"), statements.extent(shape)));
        }
    }
    all
}

/// Every statement, with its name.
fn all_statements(statements: &Statements) -> Vec<(String, SqlStr)> {
    let mut all = built_statements(statements);
    let others = [
        ("append", &statements.append),
        ("append_and_keep", &statements.append_and_keep),
        ("insert", &statements.insert),
        ("insert_by_key", &statements.insert_by_key),
        ("commands", &statements.commands),
        ("head", &statements.head),
        ("last", &statements.last),
        ("exists", &statements.exists),
        ("tracked", &statements.tracked),
        ("by_id", &statements.by_id),
        ("positions_by_id", &statements.positions_by_id),
        ("clear", &statements.clear),
    ];
    all.extend(others.map(|(name, sql)| (name.to_owned(), sql.clone())));
    all
}

/// Breaks the text into a line per clause.
fn laid_out(sql: &str) -> String {
    const CLAUSES: [&str; 7] = [
        "FROM (",
        "CROSS JOIN",
        "LEFT JOIN",
        "WHERE",
        "UNION ALL",
        "ORDER BY",
        "AND CASE",
    ];
    let words: Vec<&str> = sql.split_whitespace().collect();
    let mut text = words.join(" ");
    for clause in CLAUSES {
        text = text.replace(&format!(" {clause}"), &format!("\n{clause}"));
    }
    text + "\n"
}

#[test]
fn statements_equal_golden_files() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    for (name, sql) in built_statements(&Statements::new("\"log\"", false)) {
        let file = folder.join(format!("{name}.sql"));
        let text = laid_out(sql.as_str());
        if update {
            std::fs::write(&file, &text).expect("the golden file can be written");
        }
        let golden = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(text, golden, "{name}: see {}", file.display());
    }
}

#[test]
fn every_golden_file_has_a_statement() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let statements = built_statements(&Statements::new("\"log\"", false));
    for entry in std::fs::read_dir(folder).expect("the golden folder can be read") {
        let path = entry.expect("the golden folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "sql") {
            continue;
        }
        let name = path.file_stem().expect("a name").to_string_lossy();
        assert!(
            statements.iter().any(|(statement, _)| *statement == name),
            "{name} has no statement"
        );
    }
}

#[test]
fn every_statement_names_the_schema_of_the_log() {
    for pooled in [false, true] {
        for (name, sql) in all_statements(&Statements::new("\"other\"", pooled)) {
            let sql = sql.as_str();
            assert!(sql.contains("\"other\"."), "{name}: {sql}");
            assert!(
                !sql.contains("dcb.") && !sql.contains("--"),
                "{name}: {sql}"
            );
        }
    }
}
