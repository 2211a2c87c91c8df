//! The names and texts in datasets.

use crate::random::SplitMix64;

/// Categories of courses, and the topics of each.
pub(super) const CATEGORIES: [(&str, [&str; 4]); 15] = [
    (
        "Computer Science",
        [
            "Distributed Systems",
            "Algorithms",
            "Databases",
            "Operating Systems",
        ],
    ),
    (
        "Mathematics",
        [
            "Linear Algebra",
            "Real Analysis",
            "Number Theory",
            "Topology",
        ],
    ),
    (
        "Physics",
        [
            "Quantum Mechanics",
            "Thermodynamics",
            "Electrodynamics",
            "Relativity",
        ],
    ),
    (
        "Chemistry",
        [
            "Organic Synthesis",
            "Spectroscopy",
            "Reaction Kinetics",
            "Polymers",
        ],
    ),
    (
        "Biology",
        [
            "Molecular Genetics",
            "Evolution",
            "Cell Physiology",
            "Ecology",
        ],
    ),
    (
        "Literature",
        [
            "the Modern Novel",
            "Lyric Poetry",
            "Tragedy",
            "Narrative Theory",
        ],
    ),
    (
        "History",
        [
            "the Roman Republic",
            "the Silk Road",
            "the Renaissance",
            "Industrialisation",
        ],
    ),
    (
        "Philosophy",
        [
            "Ethics",
            "Epistemology",
            "Formal Logic",
            "the Philosophy of Mind",
        ],
    ),
    (
        "Economics",
        [
            "Game Theory",
            "Labour Markets",
            "Public Finance",
            "Econometrics",
        ],
    ),
    (
        "Psychology",
        [
            "Perception",
            "Memory",
            "Social Cognition",
            "Child Development",
        ],
    ),
    (
        "Engineering",
        [
            "Control Systems",
            "Fluid Dynamics",
            "Structural Design",
            "Materials",
        ],
    ),
    (
        "Art",
        [
            "Printmaking",
            "Colour and Light",
            "Sculpture",
            "the Dutch Masters",
        ],
    ),
    (
        "Music",
        [
            "Counterpoint",
            "Orchestration",
            "Music Acoustics",
            "the Romantic Symphony",
        ],
    ),
    (
        "Business",
        [
            "Corporate Finance",
            "Operations",
            "Marketing Research",
            "Negotiation",
        ],
    ),
    (
        "Political Science",
        [
            "Electoral Systems",
            "Diplomacy",
            "Federalism",
            "Public Policy",
        ],
    ),
];

const LEVELS: [&str; 6] = [
    "Introduction to",
    "Foundations of",
    "Intermediate Studies in",
    "Advanced Topics in",
    "Research Methods in",
    "Graduate Seminar on",
];

const FIRST_NAMES: [&str; 24] = [
    "Alexandra",
    "Benedikt",
    "Catherine",
    "Dimitrios",
    "Eleonora",
    "Frederick",
    "Gabriella",
    "Henrietta",
    "Immanuel",
    "Josephine",
    "Konstantin",
    "Lieselotte",
    "Maximilian",
    "Nathaniel",
    "Oluwaseun",
    "Priyanka",
    "Rosalinda",
    "Sebastian",
    "Theodora",
    "Umberto",
    "Valentina",
    "Wilhelmina",
    "Yevgenia",
    "Zacharias",
];

const LAST_NAMES: [&str; 24] = [
    "Abernathy",
    "Bergstrom",
    "Castellanos",
    "Dragomirov",
    "Eriksdottir",
    "Fitzgerald",
    "Guttenberg",
    "Hashimoto",
    "Ivanovskaya",
    "Jankowski",
    "Krishnamurthy",
    "Lindqvist",
    "Montgomery",
    "Nakagawa",
    "Okonkwo",
    "Papadopoulos",
    "Quattrocchi",
    "Rosenbaum",
    "Santangelo",
    "Thorvaldsen",
    "Underwood",
    "Villanueva",
    "Wadsworth",
    "Zimmermann",
];

/// The major for a category: the same name, except English for Literature.
pub(super) fn major_of(category: &'static str) -> &'static str {
    if category == "Literature" {
        "English"
    } else {
        category
    }
}

pub(super) fn course(random: &mut SplitMix64, topics: &[&str]) -> String {
    format!("{} {}", random.pick(&LEVELS), random.pick(topics))
}

pub(super) fn person(random: &mut SplitMix64) -> String {
    format!("{} {}", random.pick(&FIRST_NAMES), random.pick(&LAST_NAMES))
}
