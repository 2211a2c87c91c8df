//! Sessions in Markdown: blocks `console` of commands, each with what it prints.

use std::path::Path;
use std::process::Command;

/// The commands of a text. In a block that begins with `$ `, each has the output that it shows.
pub(crate) fn steps(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut steps = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().expect("an end");
        let session = block.split("$ ").skip(1);
        let shown = session.map(|step| step.split_once('\n').expect("a line"));
        match block.starts_with("$ ") {
            true => steps.extend(shown.map(|(command, shown)| (command, Some(shown)))),
            false => steps.extend(block.lines().map(|command| (command, None))),
        }
    }
    steps
}

/// Runs the commands of a text in a folder, with `registrar` and the programs of another folder, and with
/// parts of them replaced. Compares what they print, where `…` stands for any text. Returns their number.
pub(crate) fn run(text: &str, folder: &Path, programs: &str, replaced: &[(&str, &str)]) -> usize {
    let binary = Path::new(env!("CARGO_BIN_EXE_registrar"));
    let own = binary.parent().expect("a folder").display();
    let path = std::env::var("PATH").expect("a path");
    let steps = steps(text);
    for (command, shown) in &steps {
        let real = |text: &str| {
            let replaced = replaced.iter();
            replaced.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
        };
        let ran = Command::new("sh")
            .args(["-c", &real(command)])
            .current_dir(folder)
            .env("PATH", format!("{own}:{programs}:{path}"))
            .env_remove("RUST_LOG")
            .output()
            .expect("a shell");
        let printed = String::from_utf8([ran.stdout, ran.stderr].concat()).expect("text");
        match shown {
            Some(shown) => assert!(
                is_like(printed.trim_end(), shown.trim_end()),
                "{command} printed\n{printed}\nexpected\n{shown}"
            ),
            None => assert!(ran.status.success(), "{command} printed\n{printed}"),
        }
    }
    steps.len()
}

fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    for (index, part) in parts.iter().enumerate() {
        if index + 1 == parts.len() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}
