use super::page::{Page, Rendered, render};
use crate::error::Error;
use crate::run::{TargetRun, temporary_of};
use std::fs;
use std::path::{Path, PathBuf};

/// Renders each page that shows the target `ended`, if the run in `folder` is complete for the
/// page.
///
/// # Errors
/// Errors of files, and [`Error::Chart`].
pub fn publish_complete(
    pages: &[Page],
    ended: &TargetRun,
    folder: &Path,
    reports: &Path,
) -> Result<(), Error> {
    let concerned = |page: &&Page| page.targets.contains(&ended.target.as_str());
    publish_each(pages.iter().filter(concerned), folder, reports).map(|_| ())
}

/// Renders each of `pages` if the run in `folder` is complete for it. Prints the reason for the
/// others, and returns the number of written pages.
///
/// # Errors
/// Errors of files, and [`Error::Chart`].
pub fn publish_each<'a>(
    pages: impl IntoIterator<Item = &'a Page>,
    folder: &Path,
    reports: &Path,
) -> Result<usize, Error> {
    let mut written = 0;
    for page in pages {
        match publish(page, folder, reports) {
            Ok(()) => {
                written += 1;
                eprintln!("{} written", page.slug);
            }
            Err(Error::Incomplete { page, reason }) => {
                eprintln!("{page} left as it is: {reason}");
            }
            Err(other) => return Err(other),
        }
    }
    Ok(written)
}

/// Renders a page from the run in `folder` into `reports`. All its files are first written under
/// temporary names, then renamed.
///
/// # Errors
/// [`Error::Incomplete`] if the run lacks a target of the page, has measured only a part of it, or
/// has files of different runs or builds; errors of files; [`Error::Chart`].
pub fn publish(page: &Page, folder: &Path, reports: &Path) -> Result<(), Error> {
    let targets = complete_targets(page, folder)?;
    let rendered = render(page, &targets)?;
    write_all(page, &rendered, reports)
}

fn complete_targets(page: &Page, folder: &Path) -> Result<Vec<TargetRun>, Error> {
    let incomplete = |reason: String| Error::Incomplete {
        page: page.slug.to_owned(),
        reason,
    };
    let mut targets: Vec<TargetRun> = Vec::new();
    for name in page.targets {
        let target = TargetRun::load(folder, name)?
            .ok_or_else(|| incomplete(format!("{name} has not been run")))?;
        if let Some(reason) = &target.partial {
            return Err(incomplete(format!("{name}: {reason}")));
        }
        // Comparing with the first target is enough: all must be equal to it.
        if let Some(difference) = targets.first().and_then(|first| difference(first, &target)) {
            return Err(incomplete(format!("{name} has another {difference}")));
        }
        targets.push(target);
    }
    Ok(targets)
}

fn difference(one: &TargetRun, other: &TargetRun) -> Option<&'static str> {
    if one.run != other.run {
        Some("run")
    } else if one.environment.commit != other.environment.commit {
        Some("commit")
    } else if one.environment.dirty != other.environment.dirty {
        Some("state of the tree")
    } else if one.invocation.profile != other.invocation.profile {
        Some("profile")
    } else {
        None
    }
}

fn write_all(page: &Page, rendered: &Rendered, reports: &Path) -> Result<(), Error> {
    let mut files: Vec<(PathBuf, &str)> = vec![
        (
            reports.join("raw").join(page.slug).with_extension("txt"),
            &rendered.raw,
        ),
        (
            reports.join(page.slug).with_extension("md"),
            &rendered.markdown,
        ),
    ];
    let chart = |(name, svg)| (reports.join("charts").join(name), svg);
    files.extend(
        rendered
            .charts
            .iter()
            .map(|(name, svg)| chart((name, svg.as_str()))),
    );
    for (file, content) in &files {
        let temporary = temporary_of(file);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(Error::file(folder))?;
        }
        fs::write(&temporary, content).map_err(Error::file(temporary))?;
    }
    // All temporary files exist now. An error while writing them has returned above, before the old
    // page was touched.
    for (file, _) in &files {
        fs::rename(temporary_of(file), file).map_err(Error::file(file))?;
    }
    Ok(())
}
