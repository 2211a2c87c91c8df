//! Dead links in Markdown pages: relative links lead to files and headings that exist, and links by name are
//! defined.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// The number of relative links of a page, and those that lead nowhere.
///
/// # Panics
///
/// Panics if a page can't be read.
pub fn dead_links(page: &Path) -> (usize, Vec<String>) {
    let text = read(page);
    let links = links(&text);
    let dead = links
        .targets
        .iter()
        .filter(|link| !leads(page, &text, link));
    let undefined = links.undefined.iter().map(|name| format!("[{name}]"));
    let dead = dead.cloned().chain(undefined).collect();
    (links.targets.len() + links.undefined.len(), dead)
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|failed| panic!("{}: {failed}", page.display()))
}

fn leads(page: &Path, text: &str, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = page.parent().expect("a folder").join(path);
    let is_page = target
        .extension()
        .is_some_and(|extension| extension == "md");
    match (path, anchor) {
        ("", anchor) => anchors(text).contains(anchor),
        (_, "") => target.exists(),
        _ => target.exists() && (!is_page || anchors(&read(&target)).contains(anchor)),
    }
}

/// The links of a page, without those to other hosts and to items of the documentation.
#[derive(Debug, PartialEq)]
struct Links {
    targets: BTreeSet<String>,
    /// The names of links that the page does not define.
    undefined: BTreeSet<String>,
}

fn links(text: &str) -> Links {
    static INLINE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern"));
    static NAMED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\]\[([^\]]+)\]").expect("a pattern"));
    static DEFINED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^\[([^\]]+)\]: (\S+)$").expect("a pattern"));
    static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`[^`]*`").expect("a pattern"));
    let text = without_blocks(text);
    let defined: HashMap<String, String> = DEFINED
        .captures_iter(&text)
        .map(|link| (link[1].to_lowercase(), link[2].to_owned()))
        .collect();
    // A link may have code as its text, but no code is a link.
    let text = CODE.replace_all(&text, "");
    let inline = INLINE.captures_iter(&text).map(|link| link[1].to_owned());
    let targets = inline.chain(defined.values().cloned());
    let named = NAMED
        .captures_iter(&text)
        .map(|link| link[1].to_lowercase());
    Links {
        targets: targets.filter(|target| !target.contains(':')).collect(),
        undefined: named.filter(|name| !defined.contains_key(name)).collect(),
    }
}

/// The anchors that a Markdown viewer gives the headings. One that repeats has a number.
fn anchors(text: &str) -> BTreeSet<String> {
    static TARGET: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\]\([^)]*\)").expect("a pattern"));
    let mut counts = HashMap::new();
    let text = without_blocks(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchors = headings.map(|line| {
        let heading = TARGET.replace_all(line.trim_start_matches('#').trim(), "");
        let kept = heading.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            letter => letter
                .is_alphanumeric()
                .then(|| letter.to_ascii_lowercase()),
        });
        let anchor: String = kept.collect();
        let count = counts.entry(anchor.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => anchor,
            count => format!("{anchor}-{}", count - 1),
        }
    });
    anchors.collect()
}

/// The text without blocks of code.
fn without_blocks(text: &str) -> String {
    let mut in_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_are_those_outside_of_code() {
        let page = "[a](b.md) and [`c`](d.md#e), [f][g] [h][I] `[j](k)` [l](https://m)\n\
            ```sh\n[n](o)\n```\n\n[g]: p.md\n[q]: crate::r\n";
        let expected = Links {
            targets: set(&["b.md", "d.md#e", "p.md"]),
            undefined: set(&["i"]),
        };
        assert_eq!(links(page), expected);
    }

    #[test]
    fn anchors_are_those_of_a_viewer() {
        let page = "# One `two`, [three](four)!\n```sh\n# no heading\n```\n## A_b c\n## A_b c\n";
        assert_eq!(anchors(page), set(&["one-two-three", "a_b-c", "a_b-c-1"]));
    }

    #[test]
    fn dead_links_are_found() {
        let folder = std::env::temp_dir().join(format!("tidy-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let page = folder.join("page.md");
        let text = "# Here\n[1](#here) [2](#there) [3](page.md#here) [4](page.md#no) [5](none.md) [6][x]\n";
        fs::write(&page, text).unwrap();
        let dead = ["#there", "none.md", "page.md#no", "[x]"].map(str::to_owned);
        assert_eq!(dead_links(&page), (6, dead.to_vec()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
