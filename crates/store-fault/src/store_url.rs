use crate::{Fault, Problem};

/// The place of a store, as a URL names it. Only implementations of stores need this.
///
/// ```
/// use store_fault::StoreUrl;
///
/// assert_eq!(StoreUrl::parse("sqlite:orders.db"), Ok(StoreUrl::File("orders.db")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreUrl<'a> {
    /// `memory:`: the store's choice for tests.
    Memory,
    /// `sqlite::memory:`: SQLite in memory.
    SqliteInMemory,
    /// `sqlite:orders.db`, `sqlite:///var/orders.db`, or a path without a colon: SQLite at this path.
    File(&'a str),
    /// `postgres://…` or `postgresql://…`: the whole URL.
    Postgres(&'a str),
}

impl<'a> StoreUrl<'a> {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`Problem::Malformed`] for any other text.
    pub fn parse(url: &'a str) -> Result<Self, Problem> {
        match url.split_once(':').unwrap_or(("sqlite", url)) {
            ("memory", "") => Ok(Self::Memory),
            ("sqlite", ":memory:") => Ok(Self::SqliteInMemory),
            // A `?` would begin parameters, which would otherwise become a part of the file's name.
            ("sqlite", path) if !path.is_empty() && !path.contains('?') => {
                Ok(Self::File(path.strip_prefix("//").unwrap_or(path)))
            }
            ("postgres" | "postgresql", _) => Ok(Self::Postgres(url)),
            _ => Err(Problem::malformed(
                "expected memory:, sqlite:path, a path or postgres://",
            )),
        }
    }

    /// The fault of a program that was compiled without the backend of this URL.
    pub fn not_compiled(self) -> Fault {
        let feature = match self {
            Self::Postgres(_) => "postgres",
            Self::Memory | Self::SqliteInMemory | Self::File(_) => "sqlite",
        };
        Fault::FeatureDisabled { feature }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_names_the_place_of_a_store() {
        let postgres = "postgresql://app:secret@localhost/orders?sslmode=require";
        for (url, place) in [
            ("memory:", StoreUrl::Memory),
            ("sqlite::memory:", StoreUrl::SqliteInMemory),
            ("orders.db", StoreUrl::File("orders.db")),
            ("sqlite:orders.db", StoreUrl::File("orders.db")),
            ("sqlite://orders.db", StoreUrl::File("orders.db")),
            ("sqlite:///var/a:b", StoreUrl::File("/var/a:b")),
            (postgres, StoreUrl::Postgres(postgres)),
        ] {
            assert_eq!(StoreUrl::parse(url), Ok(place), "{url}");
        }
        for malformed in [
            "",
            "sqlite:",
            "sqlite:a?mode=ro",
            "memory:a",
            ":memory:",
            "mysql://a",
        ] {
            assert!(StoreUrl::parse(malformed).is_err(), "{malformed}");
        }
    }
}
