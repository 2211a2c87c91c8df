//! The manifests of the crates that are published have all that a registry and docs.rs show.

use std::fs;
use std::path::PathBuf;

use regex::Regex;
use tidy::workspace;

/// The folders of the crates that are published, with their manifests: those that don't say otherwise.
fn published() -> Vec<(PathBuf, String)> {
    let crates = fs::read_dir(workspace::root().join("crates")).expect("the crates");
    let folders = crates.map(|entry| entry.expect("a crate").path());
    let manifests = folders.filter_map(|folder| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        Some((folder, manifest))
    });
    let published = manifests.filter(|(_, manifest)| !manifest.contains("\npublish = false"));
    let published: Vec<_> = published.collect();
    assert!(published.len() >= 20, "{} crates", published.len());
    published
}

/// The texts of a list in a manifest.
fn list(manifest: &str, key: &str) -> Vec<String> {
    let line = Regex::new(&format!(r"(?m)^{key} = \[(.*)\]$")).expect("a pattern");
    let text = Regex::new(r#""([^"]*)""#).expect("a pattern");
    let Some(line) = line.captures(manifest) else {
        return Vec::new();
    };
    text.captures_iter(&line[1])
        .map(|text| text[1].to_owned())
        .collect()
}

#[test]
fn published_manifests_are_complete() {
    for (folder, manifest) in published() {
        let name = folder.display();
        for line in [
            "description = ",
            "license.workspace = true",
            "readme = \"README.md\"",
            "rust-version.workspace = true",
            "version.workspace = true",
        ] {
            assert!(manifest.contains(&format!("\n{line}")), "{name}: {line}");
        }
        let keywords = list(&manifest, "keywords");
        assert!((1..=5).contains(&keywords.len()), "{name}: {keywords:?}");
        let fits = |keyword: &String| keyword.len() <= 20 && !keyword.contains(' ');
        assert!(keywords.iter().all(fits), "{name}: {keywords:?}");
        assert!(!list(&manifest, "categories").is_empty(), "{name}");
        let documented = manifest.contains("[package.metadata.docs.rs]\nall-features = true");
        assert_eq!(documented, manifest.contains("\n[features]"), "{name}");
    }
}

/// The package holds the texts that the workspace's licences have.
#[test]
fn published_packages_hold_the_licences() {
    for (folder, _) in published() {
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let text = fs::read_to_string(workspace::root().join(file)).expect("a licence");
            let packaged = fs::read_to_string(folder.join(file));
            assert_eq!(packaged.ok().as_ref(), Some(&text), "{}", folder.display());
        }
    }
}
