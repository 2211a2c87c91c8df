//! The factor makes tests larger and never smaller, and nothing else reads the variable.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use conformance_suite::{EFFORT, effort, effort_up_to, stride};

/// Runs the test below in a process with this value of the variable.
fn sizes(value: Option<&str>) -> Output {
    let mut itself = Command::new(std::env::current_exe().expect("the path of this test"));
    itself.args([
        "--exact",
        "effort::prints_sizes",
        "--ignored",
        "--nocapture",
    ]);
    match value {
        Some(value) => itself.env(EFFORT, value),
        None => itself.env_remove(EFFORT),
    };
    itself.output().expect("the test runs")
}

#[test]
#[ignore = "other tests run it in a child process"]
fn prints_sizes() {
    let strides = [1, 3, 5, 7, 20].map(stride);
    let sizes = [1, 8, 30, 5_000, usize::MAX].map(effort);
    let limited = [(2, 10), (64, 512), (7, 3)].map(|(usual, most)| effort_up_to(usual, most));
    println!("{strides:?} {sizes:?} {limited:?}");
}

#[test]
fn factor_of_one_is_the_usual_size() {
    let most = usize::MAX;
    let usual = format!("[1, 3, 5, 7, 20] [1, 8, 30, 5000, {most}] [2, 64, 7]");
    for value in [None, Some("1")] {
        let output = sizes(value);
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains(&usual), "{printed}");
    }
}

#[test]
fn larger_factor_makes_every_test_larger() {
    for (factor, expected) in [
        ("3", "[1, 1, 1, 2, 6] [3, 24, 90, 15000"),
        ("10", "[1, 1, 1, 1, 2] [10, 80, 300, 50000"),
        ("1000", "[1, 1, 1, 1, 1] [1000, 8000, 30000, 5000000"),
    ] {
        let printed = sizes(Some(factor));
        let printed = String::from_utf8_lossy(&printed.stdout);
        assert!(printed.contains(expected), "{printed}");
    }
    let printed = sizes(Some("1000"));
    let printed = String::from_utf8_lossy(&printed.stdout);
    assert!(printed.contains("[10, 512, 7]"), "{printed}");
}

#[test]
fn value_that_is_no_factor_is_named() {
    for value in [
        "",
        "0",
        "-1",
        "0.5",
        "1.5",
        "many",
        "1 ",
        "99999999999999999999999",
    ] {
        let output = sizes(Some(value));
        assert!(!output.status.success(), "{value:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        let expected = format!("{EFFORT} is {value:?}: set it to 1, 2, 3 or more, or unset it");
        assert!(told.contains(&expected), "{told}");
    }
}

/// A second reader might take the value as a count, and make a test smaller.
#[test]
fn nothing_else_reads_the_variable() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut readers = Vec::new();
    for folder in ["crates", "benches", "examples"] {
        find_readers(&workspace.join(folder), &mut readers);
    }
    let names = readers.iter().filter_map(|path| path.file_name());
    assert!(names.eq(["effort.rs"]), "{readers:?}");
}

fn find_readers(folder: &Path, readers: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of this workspace") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.is_symlink() && !path.ends_with("target") {
            find_readers(&path, readers);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            if text.contains(concat!("\"REGISTRAR_", "EFFORT\"")) {
                readers.push(path);
            }
        }
    }
}
