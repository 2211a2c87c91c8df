//! The manifests of the crates that are published have all that a registry and docs.rs show.

use std::fs;
use std::path::PathBuf;

use regex::Regex;
use tidy::workspace;

/// The crates that can be published as they are. A new crate joins when its manifest is complete.
const READY: [&str; 18] = [
    "conformance-suite",
    "course-enrollment",
    "dcb-conformance",
    "dcb-core",
    "demo-server",
    "group-commit",
    "local-postgres",
    "message-conformance",
    "message-store",
    "postgres-store",
    "promql-engine",
    "registrar",
    "series-model",
    "sqlite-store",
    "store-fault",
    "store-http",
    "store-meter",
    "tsdb",
];

/// The folders of these crates, with their manifests.
fn published() -> Vec<(PathBuf, String)> {
    let crates = workspace::root().join("crates");
    let folders = READY.map(|name| crates.join(name));
    let with_manifest = folders.map(|folder| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        assert!(
            !manifest.contains("\npublish = false"),
            "{}",
            folder.display()
        );
        (folder, manifest)
    });
    with_manifest.into()
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
