//! URLs with several hosts, as libpq reads them. The driver reads one host.
//!
//! No error quotes the URL: an unencoded `/` or `@` in a password would put a part of it among the
//! hosts.

use std::net::Ipv6Addr;

use form_urlencoded::Serializer;

use super::wanted::Wanted;

/// The hosts of a URL, and how to choose one.
pub(super) struct Split {
    /// A URL for each host, which the driver can read.
    pub(super) urls: Vec<String>,
    pub(super) wanted: Wanted,
    /// Whether a search begins at any of the hosts, and not at the first.
    pub(super) is_random: bool,
}

/// The parts of a URL.
struct Parts<'a> {
    scheme: &'a str,
    /// User and password with the `@` behind them.
    user: &'a str,
    hosts: &'a str,
    /// From the `/` before the database on.
    path: &'a str,
    query: &'a str,
}

/// The parameters that this file reads, and the others.
#[derive(Default)]
struct Parameters {
    host: Option<String>,
    port: Option<String>,
    wanted: Option<String>,
    balance: Option<String>,
    others: Vec<(String, String)>,
}

/// A host and its port, each empty for the default, as they stand in the authority of a URL.
struct Place<'a> {
    host: &'a str,
    port: &'a str,
}

/// Splits a URL by its hosts.
pub(super) fn split(url: &str) -> Result<Split, String> {
    let parts = parts(url);
    let parameters = parameters(parts.query);
    let wanted = parameters.wanted.as_deref().map(Wanted::named);
    Ok(Split {
        wanted: wanted.transpose()?.unwrap_or(Wanted::Any),
        is_random: is_random(parameters.balance.as_deref())?,
        urls: match is_plain(&parts, &parameters) {
            true => vec![url.to_owned()],
            false => urls(&parts, &parameters)?,
        },
    })
}

fn parts(url: &str) -> Parts<'_> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    Parts {
        scheme,
        user,
        hosts,
        path,
        query,
    }
}

fn parameters(query: &str) -> Parameters {
    let mut parameters = Parameters::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = value.into_owned();
        match &*name {
            // To the driver, an address is a host.
            "host" | "hostaddr" => parameters.host = Some(value),
            "port" => parameters.port = Some(value),
            "target_session_attrs" => parameters.wanted = Some(value),
            "load_balance_hosts" => parameters.balance = Some(value),
            _ => parameters.others.push((name.into_owned(), value)),
        }
    }
    parameters
}

fn is_random(load_balance_hosts: Option<&str>) -> Result<bool, String> {
    match load_balance_hosts {
        None | Some("disable") => Ok(false),
        Some("random") => Ok(true),
        Some(_) => Err("load_balance_hosts must be disable or random".to_owned()),
    }
}

/// Whether the driver can read the URL as it is.
fn is_plain(parts: &Parts<'_>, parameters: &Parameters) -> bool {
    let is_list = |list: &Option<String>| list.as_ref().is_some_and(|list| list.contains(','));
    !parts.hosts.contains(',')
        && !is_list(&parameters.host)
        && !is_list(&parameters.port)
        && parameters.wanted.is_none()
        && parameters.balance.is_none()
}

fn urls(parts: &Parts<'_>, parameters: &Parameters) -> Result<Vec<String>, String> {
    let named: Option<Vec<&str>> = parameters
        .host
        .as_deref()
        .map(|list| list.split(',').collect());
    let places = match &named {
        Some(hosts) => hosts.iter().map(|host| Place { host, port: "" }).collect(),
        None => places(parts.hosts)?,
    };
    let ports = match parameters.port.as_deref() {
        Some(list) => spread(list, places.len())?,
        None => places.iter().map(|place| place.port).collect(),
    };
    let mut urls = Vec::with_capacity(places.len());
    for (index, (place, port)) in places.iter().zip(ports).enumerate() {
        check(place.host, port, places.len())
            .map_err(|wrong| format!("host {}: {wrong}", index + 1))?;
        urls.push(of_one_host(
            parts,
            parameters,
            named.is_some(),
            place.host,
            port,
        ));
    }
    Ok(urls)
}

/// The hosts in the authority of a URL.
fn places(hosts: &str) -> Result<Vec<Place<'_>>, String> {
    let places = hosts.split(',').map(place).enumerate();
    places
        .map(|(index, place)| place.map_err(|wrong| format!("host {}: {wrong}", index + 1)))
        .collect()
}

fn place(text: &str) -> Result<Place<'_>, &'static str> {
    let Some(bracketed) = text.strip_prefix('[') else {
        let (host, port) = text.split_once(':').unwrap_or((text, ""));
        return Ok(Place { host, port });
    };
    let (address, rest) = bracketed
        .split_once(']')
        .ok_or("the bracket of the IPv6 address is not closed")?;
    if address.parse::<Ipv6Addr>().is_err() {
        return Err("the brackets hold no IPv6 address");
    }
    let port = match rest {
        "" => "",
        _ => rest
            .strip_prefix(':')
            .ok_or("a port must follow the IPv6 address")?,
    };
    let host = &text[..address.len() + 2];
    Ok(Place { host, port })
}

/// One port for all hosts, or one for each.
fn spread(ports: &str, hosts: usize) -> Result<Vec<&str>, String> {
    let ports: Vec<&str> = ports.split(',').collect();
    match ports.as_slice() {
        [all] => Ok(vec![*all; hosts]),
        each if each.len() == hosts => Ok(ports),
        each => Err(format!("{} ports for {hosts} hosts", each.len())),
    }
}

fn check(host: &str, port: &str, hosts: usize) -> Result<(), &'static str> {
    if host.is_empty() && hosts > 1 {
        return Err("its name is empty");
    }
    if !port.is_empty() && !port.parse().is_ok_and(|port: u16| port > 0) {
        return Err("its port is not a number from 1 to 65535");
    }
    Ok(())
}

/// The URL with one host, which the parameters name if `named` says so.
fn of_one_host(
    parts: &Parts<'_>,
    parameters: &Parameters,
    named: bool,
    host: &str,
    port: &str,
) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(&parameters.others);
    let colon = if port.is_empty() { "" } else { ":" };
    let place = match named {
        false => format!("{host}{colon}{port}"),
        true => {
            query.append_pair("host", host);
            // The driver refuses a user without a host. It uses the host of the parameters.
            format!("localhost{colon}{port}")
        }
    };
    let query = query.finish();
    let mark = if query.is_empty() { "" } else { "?" };
    let Parts {
        scheme, user, path, ..
    } = parts;
    format!("{scheme}://{user}{place}{path}{mark}{query}")
}
