use super::{MACHINE, row};
use crate::report::{MemoryMeaning, PublishedRow, PublishedTable, RateMeaning, Units};

/// Append, second group.
pub(crate) const APPEND_MS: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::MillisecondsAndKilobytes,
    rate: RateMeaning::Iterations,
    memory: MemoryMeaning::Own,
    rows: &[
        row("Append", "Medium", 1, 1, [9938.0, 0.25, 1.88, 56.0]),
        row("Append", "Small", 1, 1, [9546.0, 0.24, 1.88, 56.0]),
        row("Append", "Tiny", 1, 1, [9896.0, 0.24, 1.88, 56.0]),
        row("Append", "Medium", 1, 10, [6006.0, 0.47, 19.54, 244.0]),
        row("Append", "Small", 1, 10, [5793.0, 0.46, 19.54, 244.0]),
        row("Append", "Tiny", 1, 10, [5928.0, 0.48, 19.54, 244.0]),
        row("Append", "Medium", 100, 1, [294.0, 8.1, 182.28, 5259.0]),
        row("Append", "Small", 100, 1, [314.0, 7.5, 182.28, 5259.0]),
        row("Append", "Tiny", 100, 1, [291.0, 7.9, 182.28, 5259.0]),
        row("Append", "Medium", 100, 10, [129.0, 19.1, 1950.63, 24_073.0]),
        row("Append", "Small", 100, 10, [130.0, 19.4, 1950.63, 24_073.0]),
        row("Append", "Tiny", 100, 10, [124.0, 19.3, 1950.63, 24_073.0]),
    ],
};

/// AppendIf without conflict, second group.
pub(crate) const APPEND_IF_MS: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::MillisecondsAndKilobytes,
    rate: RateMeaning::Iterations,
    memory: MemoryMeaning::Own,
    rows: &[
        row("AppendIf", "Medium", 1, 1, [8182.0, 0.87, 4.76, 96.0]),
        row("AppendIf", "Small", 1, 1, [7326.0, 0.77, 4.76, 96.0]),
        row("AppendIf", "Tiny", 1, 1, [7953.0, 0.85, 4.76, 96.0]),
        row("AppendIf", "Medium", 1, 10, [3829.0, 3.06, 37.55, 295.0]),
        row("AppendIf", "Small", 1, 10, [3549.0, 2.36, 37.55, 295.0]),
        row("AppendIf", "Tiny", 1, 10, [3807.0, 2.27, 37.55, 295.0]),
        row("AppendIf", "Medium", 100, 1, [138.0, 22.5, 552.15, 9550.0]),
        row("AppendIf", "Small", 100, 1, [133.0, 20.2, 552.15, 9550.0]),
        row("AppendIf", "Tiny", 100, 1, [140.0, 21.5, 552.15, 9550.0]),
        row("AppendIf", "Medium", 100, 10, [100.0, 43.1, 3844.81, 29_421.0]),
        row("AppendIf", "Small", 100, 10, [100.0, 44.5, 3844.81, 29_421.0]),
        row("AppendIf", "Tiny", 100, 10, [100.0, 44.6, 3844.81, 29_421.0]),
    ],
};

/// AppendIf "with conflict", second group; no conflict occurred.
pub(crate) const APPEND_IF_CONFLICT_MS: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::MillisecondsAndKilobytes,
    rate: RateMeaning::Iterations,
    memory: MemoryMeaning::Own,
    rows: &[
        row("AppendIf", "Medium", 1, 1, [3990.0, 1.21, 7.20, 144.0]),
        row("AppendIf", "Small", 1, 1, [3060.0, 0.99, 7.20, 144.0]),
        row("AppendIf", "Tiny", 1, 1, [3990.0, 1.15, 7.20, 144.0]),
        row("AppendIf", "Medium", 1, 10, [2340.0, 2.61, 39.95, 343.0]),
        row("AppendIf", "Small", 1, 10, [2260.0, 2.64, 39.95, 343.0]),
        row("AppendIf", "Tiny", 1, 10, [2394.0, 2.98, 39.95, 343.0]),
        row("AppendIf", "Medium", 100, 1, [139.0, 22.7, 466.60, 9309.0]),
        row("AppendIf", "Small", 100, 1, [136.0, 21.6, 466.60, 9309.0]),
        row("AppendIf", "Tiny", 100, 1, [132.0, 19.4, 466.60, 9309.0]),
        row("AppendIf", "Medium", 100, 10, [100.0, 45.1, 3837.22, 29_261.0]),
        row("AppendIf", "Small", 100, 10, [100.0, 45.7, 3837.22, 29_261.0]),
        row("AppendIf", "Tiny", 100, 10, [100.0, 46.1, 3837.22, 29_261.0]),
    ],
};

/// Project and ProjectStream, second group.
pub(crate) const PROJECTION_MS: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::MillisecondsAndKilobytes,
    rate: RateMeaning::Iterations,
    memory: MemoryMeaning::Own,
    rows: &[
        row("ProjectStream", "Medium", 1, 100, [10_000.0, 0.21, 78.13, 1489.0]),
        row("ProjectStream", "Small", 1, 100, [10_000.0, 0.21, 78.13, 1489.0]),
        row("ProjectStream", "Tiny", 1, 100, [10_000.0, 0.22, 78.13, 1489.0]),
        row("Project", "Medium", 1, 100, [6900.0, 0.29, 66.95, 1486.0]),
        row("Project", "Small", 1, 100, [7502.0, 0.31, 66.95, 1486.0]),
        row("Project", "Tiny", 1, 100, [8049.0, 0.30, 66.95, 1486.0]),
        row("ProjectStream", "Medium", 100, 100, [319.0, 7.4, 7808.23, 148_785.0]),
        row("ProjectStream", "Small", 100, 100, [315.0, 7.7, 7808.23, 148_785.0]),
        row("ProjectStream", "Tiny", 100, 100, [304.0, 7.9, 7808.23, 148_785.0]),
        row("Project", "Medium", 100, 100, [235.0, 10.2, 6691.41, 148_496.0]),
        row("Project", "Small", 100, 100, [229.0, 10.4, 6691.41, 148_496.0]),
        row("Project", "Tiny", 100, 100, [226.0, 10.6, 6691.41, 148_496.0]),
    ],
};

/// Query and QueryStream, second group; its memory and allocations are copied from
/// [`PROJECTION_MS`].
pub(crate) const READ_MS: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::MillisecondsAndKilobytes,
    rate: RateMeaning::Iterations,
    memory: MemoryMeaning::CopiedFrom("Project"),
    rows: &[
        row("QueryStream", "Medium", 1, 100, [19_814.0, 0.12, 78.13, 1489.0]),
        row("QueryStream", "Small", 1, 100, [19_328.0, 0.12, 78.13, 1489.0]),
        row("QueryStream", "Tiny", 1, 100, [17_811.0, 0.13, 78.13, 1489.0]),
        row("Query", "Medium", 1, 100, [14_097.0, 0.17, 66.95, 1486.0]),
        row("Query", "Small", 1, 100, [13_756.0, 0.17, 66.95, 1486.0]),
        row("Query", "Tiny", 1, 100, [13_720.0, 0.17, 66.95, 1486.0]),
        row("QueryStream", "Medium", 100, 100, [518.0, 4.7, 7808.23, 148_785.0]),
        row("QueryStream", "Small", 100, 100, [544.0, 4.5, 7808.23, 148_785.0]),
        row("QueryStream", "Tiny", 100, 100, [571.0, 4.3, 7808.23, 148_785.0]),
        row("Query", "Medium", 100, 100, [368.0, 6.5, 6691.41, 148_496.0]),
        row("Query", "Small", 100, 100, [339.0, 6.6, 6691.41, 148_496.0]),
        row("Query", "Tiny", 100, 100, [363.0, 6.8, 6691.41, 148_496.0]),
    ],
};

/// ProjectionLimits, second group; at most five projections at once.
pub(crate) const PROJECTION_LIMITS_MS: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::MillisecondsAndKilobytes,
    rate: RateMeaning::Iterations,
    memory: MemoryMeaning::Own,
    rows: &[
        limited("Medium", 5, [7203.0, 0.39, 23.86, 488.0], 1.000),
        limited("Small", 5, [6907.0, 0.39, 23.86, 488.0], 1.000),
        limited("Tiny", 5, [6818.0, 0.39, 23.86, 488.0], 1.000),
        limited("Medium", 8, [5916.0, 0.41, 34.69, 716.0], 0.625),
        limited("Small", 8, [6103.0, 0.42, 34.69, 716.0], 0.625),
        limited("Tiny", 8, [6099.0, 0.42, 34.69, 716.0], 0.625),
        limited("Medium", 10, [5552.0, 0.46, 45.23, 938.0], 0.500),
        limited("Small", 10, [5446.0, 0.46, 45.23, 938.0], 0.500),
        limited("Tiny", 10, [5446.0, 0.46, 45.23, 938.0], 0.500),
    ],
};

const fn limited(
    dataset: &'static str,
    concurrency: usize,
    figures: [f64; 4],
    success_rate: f64,
) -> PublishedRow {
    let row = row("ProjectionLimits", dataset, concurrency, 100, figures);
    PublishedRow {
        success_rate: Some(success_rate),
        ..row
    }
}
