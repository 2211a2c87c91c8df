//! How much the tests do.

/// The variable that makes the tests larger: a factor of at least 1.
pub const EFFORT: &str = "REGISTRAR_EFFORT";

/// `usual` times the factor in [`EFFORT`]: the number of repetitions of a test that may need many to find a
/// fault.
///
/// # Panics
/// If the variable is set and is not a whole number of at least 1.
pub fn effort(usual: usize) -> usize {
    usual.saturating_mul(factor())
}

/// As [`effort`], but at most `most`: for sizes that a machine or a server limits. At least `usual`.
///
/// # Panics
/// As [`effort`].
pub fn effort_up_to(usual: usize, most: usize) -> usize {
    effort(usual).min(most).max(usual)
}

/// `usual` divided by the factor, at least 1: the distance between the positions that a test tries.
///
/// # Panics
/// As [`effort`]; and if `usual` is 0.
pub fn stride(usual: usize) -> usize {
    assert!(usual > 0, "a stride of 0 leads nowhere");
    (usual / factor()).max(1)
}

fn factor() -> usize {
    let Some(value) = std::env::var_os(EFFORT) else {
        return 1;
    };
    let factor = value.to_str().and_then(|text| text.parse().ok());
    let factor = factor.filter(|factor| *factor >= 1);
    factor
        .unwrap_or_else(|| panic!("{EFFORT} is {value:?}: set it to 1, 2, 3 or more, or unset it"))
}
