/// A stream's name and its parts.
#[derive(Clone, Copy, Debug)]
pub struct NameParts {
    /// The whole name.
    pub name: &'static str,
    /// The part before the first hyphen, or the whole name.
    pub category: &'static str,
    /// The part after the first hyphen.
    pub id: Option<&'static str>,
    /// The id up to its first plus.
    pub cardinal_id: Option<&'static str>,
}

/// One name of each form, with the parts that the SQL functions of Message DB return.
pub const NAMES: [NameParts; 14] = [
    category_alone("account"),
    category_alone("account:command"),
    category_alone("a+b"),
    category_alone("größe"),
    with_id("account-1", "account", "1", "1"),
    with_id("account-", "account", "", ""),
    with_id("account-1-2", "account", "1-2", "1-2"),
    with_id("account--", "account", "-", "-"),
    with_id("account-+1", "account", "+1", ""),
    with_id("account:command-1+2-3", "account:command", "1+2-3", "1"),
    with_id("größe-ß+é", "größe", "ß+é", "ß"),
    // These two are in the category with the empty name.
    with_id("-1", "", "1", "1"),
    with_id("-", "", "", ""),
    // Sorts between `account` and `account-`.
    with_id("account b-1", "account b", "1", "1"),
];

const fn category_alone(name: &'static str) -> NameParts {
    NameParts {
        name,
        category: name,
        id: None,
        cardinal_id: None,
    }
}

const fn with_id(
    name: &'static str,
    category: &'static str,
    id: &'static str,
    cardinal_id: &'static str,
) -> NameParts {
    NameParts {
        name,
        category,
        id: Some(id),
        cardinal_id: Some(cardinal_id),
    }
}
