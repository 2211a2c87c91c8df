//! The texts of the statements, as reviewed: one file each in `tests/golden`. After a change on
//! purpose, `UPDATE_GOLDEN=1 cargo test -p dcb-core --lib golden` writes them anew.

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

const LOOKS: [(Look, &str); Look::ALL.len()] = [
    (Look::Nothing, "append_optimistic"),
    (Look::Keys, "append_optimistic_keys"),
    (Look::Pairs, "append_optimistic_pairs"),
];

/// Every statement with the name of its file.
fn all_statements(statements: &Statements) -> Vec<(String, SqlStr)> {
    let single = [
        ("append", &statements.append),
        ("append_with_commands", &statements.append_with_commands),
        ("commands", &statements.commands),
        ("head", &statements.head),
        ("exists", &statements.exists),
        ("tracked", &statements.tracked),
        ("by_id", &statements.by_id),
        ("positions_by_id", &statements.positions_by_id),
        ("clear", &statements.clear),
        ("read_together", &statements.read_together),
        ("extents_together", &statements.extents_together),
    ];
    let mut all: Vec<_> = single
        .map(|(name, sql)| (name.to_owned(), sql.clone()))
        .into();
    for (look, name) in LOOKS {
        all.push((name.to_owned(), statements.append_optimistic(look)));
        let lone = statements.append_lone(look);
        all.extend(lone.map(|sql| (name.replace("optimistic", "lone"), sql)));
    }
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

/// The text with a line for each clause.
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
fn statements_are_the_golden_ones() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    for (name, sql) in all_statements(&Statements::new("\"log\"", false)) {
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
fn no_golden_file_is_without_its_statement() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let statements = all_statements(&Statements::new("\"log\"", false));
    for entry in std::fs::read_dir(folder).expect("the golden folder can be read") {
        let path = entry.expect("the golden folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "sql") {
            continue;
        }
        let name = path.file_stem().expect("a name").to_string_lossy();
        assert!(
            statements.iter().any(|(own, _)| *own == name),
            "{name} is left over"
        );
    }
}

#[test]
fn every_object_is_in_the_schema_of_the_log() {
    for (name, sql) in all_statements(&Statements::new("\"other\"", false)) {
        let sql = sql.as_str();
        assert!(sql.contains("\"other\"."), "{name}: {sql}");
        assert!(!sql.contains("dcb."), "{name}: {sql}");
    }
}
