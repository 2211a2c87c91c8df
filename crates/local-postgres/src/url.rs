//! Connection URLs for servers that this crate starts, and for other databases on a server.

use std::path::Path;

/// The superuser of every server that this crate starts.
pub(crate) const USER: &str = "postgres";

pub(crate) fn tcp(host: &str, port: u16, password: Option<&str>) -> String {
    let password = password.map(|word| format!(":{word}")).unwrap_or_default();
    format!("postgres://{USER}{password}@{host}:{port}/postgres")
}

pub(crate) fn socket(folder: &Path, port: u16) -> String {
    let folder = percent_encoded(&folder.to_string_lossy());
    format!("postgres://{USER}@localhost:{port}/postgres?host={folder}")
}

/// Replaces the database in `url` and keeps the server, credentials and parameters. Removes a
/// `dbname` parameter, which would override the path.
pub(crate) fn with_database(url: &str, database: &str) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let authority = base.find("://").map_or(0, |at| at + 3);
    let end = base[authority..]
        .find('/')
        .map_or(base.len(), |at| authority + at);
    let parameters: Vec<&str> = query
        .split('&')
        .filter(|parameter| !parameter.is_empty() && !parameter.starts_with("dbname="))
        .collect();
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{}/{database}{mark}{}", &base[..end], parameters.join("&"))
}

/// The URL without its user, password and parameters, so that it can be printed safely.
pub(crate) fn without_secrets(url: &str) -> String {
    let base = url.split_once('?').map_or(url, |(base, _)| base);
    let (scheme, rest) = base.split_once("://").unwrap_or(("postgres", base));
    // The last `@` ends the credentials, because a password may contain one.
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    format!("{scheme}://{place}")
}

fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    text.bytes()
        .map(|b| {
            if plain(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_keeps_server_and_parameters() {
        for (url, expected) in [
            ("postgres://u:p@h:1/a", "postgres://u:p@h:1/b"),
            ("postgres://u@h", "postgres://u@h/b"),
            (
                "postgres://h/a?dbname=c&host=/run/x",
                "postgres://h/b?host=/run/x",
            ),
            ("postgres://h?dbname=c", "postgres://h/b"),
        ] {
            assert_eq!(with_database(url, "b"), expected, "{url}");
        }
    }

    #[test]
    fn a_printed_url_has_no_secrets() {
        assert_eq!(
            without_secrets("postgres://u:p@ss@h:1/a?password=p"),
            "postgres://h:1/a"
        );
        assert_eq!(without_secrets("postgres://h/a"), "postgres://h/a");
    }

    #[test]
    fn a_socket_folder_is_percent_encoded() {
        let url = socket(Path::new("/tmp/a b"), 7);
        assert_eq!(
            url,
            "postgres://postgres@localhost:7/postgres?host=/tmp/a%20b"
        );
    }
}
