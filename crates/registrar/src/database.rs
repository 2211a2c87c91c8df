use std::str::FromStr;

use dcb_core::postgres as event_tables;
use message_store::postgres as message_tables;

/// A PostgreSQL, with the schema of a store if it is not the usual one.
// Without `Debug`, because a URL contains a password.
#[derive(Clone)]
pub(crate) struct Database {
    pub(crate) url: String,
    pub(crate) schema: Option<String>,
}

impl FromStr for Database {
    type Err = String;

    /// Takes the parameter `schema`, which PostgreSQL does not know, out of the URL.
    fn from_str(text: &str) -> Result<Self, String> {
        if !Self::is_url(text) {
            return Err("expected postgres://user@host/database".to_owned());
        }
        let (base, parameters) = text.split_once('?').unwrap_or((text, ""));
        let (ours, others): (Vec<&str>, Vec<&str>) = parameters
            .split('&')
            .filter(|parameter| !parameter.is_empty())
            .partition(|parameter| parameter.starts_with("schema="));
        let schema = ours.last().and_then(|parameter| {
            let mut pairs = form_urlencoded::parse(parameter.as_bytes());
            pairs.next().map(|(_, schema)| schema.into_owned())
        });
        let url = match others.is_empty() {
            true => base.to_owned(),
            false => format!("{base}?{}", others.join("&")),
        };
        Ok(Self { url, schema })
    }
}

impl Database {
    pub(crate) fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// The URL without user, password and parameters, with the schema.
    pub(crate) fn name(&self) -> String {
        let base = self.url.split('?').next().unwrap_or_default();
        let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        match &self.schema {
            Some(schema) => format!("postgres://{place}?schema={schema}"),
            None => format!("postgres://{place}"),
        }
    }

    /// The settings of its event log.
    pub(crate) fn events(&self) -> event_tables::Config {
        let config = event_tables::Config::new(&self.url);
        match &self.schema {
            Some(schema) => config.schema(schema),
            None => config,
        }
    }

    /// The settings of its message store.
    pub(crate) fn messages(&self) -> message_tables::Config {
        let config = message_tables::Config::new(&self.url);
        match &self.schema {
            Some(schema) => config.schema(schema),
            None => config,
        }
    }
}
