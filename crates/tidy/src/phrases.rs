//! Finds wordings that make a reader stop: noun clauses as subjects, and idioms from another
//! language.

use std::sync::LazyLock;

use regex::Regex;

/// Finds the wordings in `text` that plain English avoids, and returns each as it is written.
pub fn find(text: &str) -> Vec<&str> {
    static IDIOM: LazyLock<Regex> = LazyLock::new(|| {
        let idioms = [
            "in vain|of late|so many|as many as|anew|that of an?|nobody|none of them|whatever",
            "whoever|(?:of|by|for) which|of its own|(?:is|are) told",
            "who (?:comes|waits|asks|reads|writes|has|is|was)",
        ];
        let idioms = idioms.join("|");
        Regex::new(&format!(r"(?i)\b(?:{idioms})\b|\bas there\.|, for it\b")).expect("a pattern")
    });
    static CLAUSE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)(?:^|[.;:] )((?:what|who|where) (\w+))").expect("a pattern")
    });
    // "What is" and "where to" begin a question or a heading.
    let is_clause = |word: &str| !matches!(word, "is" | "are" | "do" | "does" | "to");
    let clauses = CLAUSE
        .captures_iter(text)
        .filter(|clause| is_clause(&clause[2]));
    let clauses = clauses.filter_map(|clause| clause.get(1));
    IDIOM
        .find_iter(text)
        .chain(clauses)
        .map(|phrase| phrase.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idioms_and_clauses_are_found() {
        assert_eq!(find("Nothing is sent in vain."), ["in vain"]);
        assert_eq!(find("A caller waits: what it gets is old."), ["what it"]);
        assert_eq!(
            find("Who comes then waits for room."),
            ["Who comes", "Who comes"]
        );
    }

    #[test]
    fn questions_and_plain_sentences_are_left() {
        assert!(find("What is measured").is_empty());
        assert!(find("The caller learns what happened.").is_empty());
    }
}
