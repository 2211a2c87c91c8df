//! A missing tool is noted or fails the test, and the list belongs to one run.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use unmet::{Run, VARIABLE, need};

/// A copy of this executable where cargo would put it, so that it has its own list.
struct Copy {
    folder: TempDir,
}

impl Copy {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("deps")).expect("a new folder");
        let copy = Self { folder };
        let itself = std::env::current_exe().expect("the path of this test");
        // Another test may start a process at this moment. That process would hold the copy open for writing, and the
        // copy could not be run. So the copy is written by a process that no test shares.
        let mut cp = Command::new("cp");
        let copied = cp.arg(itself).arg(copy.program()).status();
        assert!(copied.expect("cp runs").success());
        copy
    }

    fn program(&self) -> std::path::PathBuf {
        self.folder.path().join("deps/need")
    }

    /// Runs one of the tests below that only run here.
    fn run(&self, test: &str, may_lack: Option<&str>) -> Output {
        let mut command = Command::new(self.program());
        command.args(["--exact", test, "--ignored", "--nocapture"]);
        command.env_remove(VARIABLE);
        if let Some(tools) = may_lack {
            command.env(VARIABLE, tools);
        }
        command.output().expect("the copy runs")
    }

    fn files(&self) -> usize {
        let folder: &Path = &self.folder.path().join("unmet");
        std::fs::read_dir(folder).map_or(0, Iterator::count)
    }
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "other tests run it in a child process"]
fn lacks_a_tool() {
    assert_eq!(need("a-tool", None::<u8>), None);
}

#[test]
#[ignore = "other tests run it in a child process"]
fn prints_the_list() {
    println!("{:?}", Run::of_this_process().take());
}

#[test]
fn tool_that_is_there_is_returned() {
    assert_eq!(need("a-tool", Some(3)), Some(3));
}

#[test]
fn missing_tool_is_listed_once_per_test_and_run() {
    let copy = Copy::new();
    for _ in 0..2 {
        let noted = copy.run("lacks_a_tool", None);
        assert!(noted.status.success());
        let told = String::from_utf8_lossy(&noted.stderr);
        assert!(
            told.contains("not run: lacks_a_tool needs a-tool"),
            "{told}"
        );
    }
    let list = text(&copy.run("prints_the_list", None));
    assert!(list.contains(r#"["lacks_a_tool needs a-tool"]"#), "{list}");
    assert_eq!(copy.files(), 0);
    let list = text(&copy.run("prints_the_list", None));
    assert!(list.contains("[]"), "{list}");
}

/// A run that a failing test ended has left its lines.
#[test]
fn lines_of_another_run_are_not_listed() {
    let copy = Copy::new();
    let mut other_run = Command::new("sh");
    other_run.args(["-c", "\"$0\" --exact lacks_a_tool --ignored; true"]);
    let ran = other_run.arg(copy.program()).env_remove(VARIABLE).output();
    assert!(ran.expect("the copy runs").status.success());
    assert_eq!(copy.files(), 1);
    let list = text(&copy.run("prints_the_list", None));
    assert!(list.contains("[]"), "{list}");
}

#[test]
fn tool_that_may_not_be_missing_fails_the_test() {
    let copy = Copy::new();
    for allowed in ["", "another-tool", "a-tool-too"] {
        let failed = copy.run("lacks_a_tool", Some(allowed));
        assert!(!failed.status.success(), "{allowed:?}");
        let told = String::from_utf8_lossy(&failed.stderr);
        assert!(told.contains("needs a-tool"), "{told}");
    }
    assert_eq!(copy.files(), 0);
    assert!(
        copy.run("lacks_a_tool", Some("x a-tool y"))
            .status
            .success()
    );
}
