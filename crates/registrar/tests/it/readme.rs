use crate::session;

#[test]
fn the_session_of_the_readme_is_true() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = session::run(include_str!("../../README.md"), folder.path(), "", &[]);
    assert!(commands > 5, "{commands}");
}
