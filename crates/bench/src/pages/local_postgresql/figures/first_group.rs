use super::{MACHINE, row};
use crate::report::{MemoryMeaning, PublishedTable, RateMeaning, Units};

/// "Local PostgreSQL" of the comparison with Docker: operation, dataset, ops/sec of one caller.
/// The page has no figure for Docker.
pub(crate) const COMPARISON: &[(&str, &str, f64)] = &[
    ("Append", "Tiny", 4093.0),
    ("Append", "Small", 4162.0),
    ("Append", "Medium", 3833.0),
    ("AppendIf No Conflict", "Tiny", 1095.0),
    ("AppendIf No Conflict", "Small", 999.0),
    ("AppendIf No Conflict", "Medium", 1133.0),
    ("Project", "Tiny", 2978.0),
    ("Project", "Small", 3317.0),
    ("Project", "Medium", 3500.0),
    ("Query", "Tiny", 5215.0),
    ("Query", "Small", 5794.0),
    ("Query", "Medium", 5884.0),
];

/// Append, first group.
pub(crate) const APPEND: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::NanosecondsAndBytes,
    rate: RateMeaning::BarrierOps,
    memory: MemoryMeaning::Own,
    rows: &[
        row("Append", "Tiny", 1, 1, [4093.0, 244_354.0, 2990.0, 56.0]),
        row("Append", "Small", 1, 1, [4162.0, 240_270.0, 3001.0, 56.0]),
        row("Append", "Medium", 1, 1, [3833.0, 260_890.0, 2989.0, 56.0]),
        row("Append", "Tiny", 100, 1, [137.0, 7_285_283.0, 295_535.0, 5458.0]),
        row("Append", "Small", 100, 1, [131.0, 7_614_261.0, 295_521.0, 5458.0]),
        row("Append", "Medium", 100, 1, [127.0, 7_851_026.0, 295_291.0, 5457.0]),
        row("Append", "Tiny", 1, 10, [2097.0, 476_976.0, 31_678.0, 253.0]),
        row("Append", "Small", 1, 10, [2174.0, 459_906.0, 31_664.0, 253.0]),
        row("Append", "Medium", 1, 10, [2313.0, 432_383.0, 31_654.0, 253.0]),
    ],
};

/// AppendIf without conflict, first group.
pub(crate) const APPEND_IF: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::NanosecondsAndBytes,
    rate: RateMeaning::BarrierOps,
    memory: MemoryMeaning::Own,
    rows: &[
        row("AppendIf", "Tiny", 1, 1, [1095.0, 913_347.0, 4852.0, 96.0]),
        row("AppendIf", "Small", 1, 1, [999.0, 1_001_896.0, 4851.0, 96.0]),
        row("AppendIf", "Medium", 1, 1, [1133.0, 882_842.0, 4846.0, 96.0]),
        row("AppendIf", "Tiny", 100, 1, [47.0, 21_265_037.0, 562_759.0, 9554.0]),
        row("AppendIf", "Small", 100, 1, [49.0, 20_323_044.0, 562_335.0, 9552.0]),
        row("AppendIf", "Medium", 100, 1, [52.0, 19_250_116.0, 561_848.0, 9549.0]),
    ],
};

/// Project, first group.
pub(crate) const PROJECT: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::NanosecondsAndBytes,
    rate: RateMeaning::BarrierOps,
    memory: MemoryMeaning::Own,
    rows: &[
        row("Project", "Tiny", 1, 100, [2978.0, 335_909.0, 68_553.0, 1486.0]),
        row("Project", "Small", 1, 100, [3317.0, 301_363.0, 68_546.0, 1486.0]),
        row("Project", "Medium", 1, 100, [3500.0, 285_714.0, 68_534.0, 1486.0]),
        row("Project", "Tiny", 100, 100, [92.0, 10_821_593.0, 6_852_033.0, 148_491.0]),
        row("Project", "Small", 100, 100, [96.0, 10_392_868.0, 6_850_657.0, 148_478.0]),
        row("Project", "Medium", 100, 100, [103.0, 9_734_996.0, 6_849_358.0, 148_464.0]),
    ],
};

/// Query, first group.
pub(crate) const QUERY: PublishedTable = PublishedTable {
    machine: MACHINE,
    units: Units::NanosecondsAndBytes,
    rate: RateMeaning::BarrierOps,
    memory: MemoryMeaning::Own,
    rows: &[
        row("Query", "Tiny", 1, 100, [5215.0, 191_759.0, 32_850.0, 497.0]),
        row("Query", "Small", 1, 100, [5794.0, 172_583.0, 32_845.0, 497.0]),
        row("Query", "Medium", 1, 100, [5884.0, 169_974.0, 32_842.0, 497.0]),
        row("Query", "Tiny", 100, 100, [156.0, 6_415_878.0, 3_281_312.0, 49_563.0]),
        row("Query", "Small", 100, 100, [149.0, 6_722_330.0, 3_280_509.0, 49_559.0]),
        row("Query", "Medium", 100, 100, [155.0, 6_438_548.0, 3_280_189.0, 49_557.0]),
    ],
};
