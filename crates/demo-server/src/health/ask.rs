//! The command `health`, for a container, which has no other HTTP client.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::settings::Settings;
use crate::starting::STARTING;

/// Time limit for connecting, and for each read and write.
const LIMIT: Duration = Duration::from_secs(2);

/// Asks the server with these settings for a sign of life. Returns the text to print.
///
/// # Errors
/// The server can't be reached, or answers with an error.
pub(crate) fn ask(settings: &Settings) -> Result<String, Box<dyn Error>> {
    let address = reachable(settings.address());
    let failed = |failed: std::io::Error| format!("no answer from {address}: {failed}");
    let answer = exchange(address).map_err(failed)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split(' ').nth(1) {
        Some("200") if body == STARTING => Err(format!("{address} is starting").into()),
        Some("200") => Ok(body.to_owned()),
        _ => Err(format!(
            "{address} answers {}",
            head.lines().next().unwrap_or_default()
        )
        .into()),
    }
}

fn exchange(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    // Version 1.0, so that the answer ends with the connection.
    let request = format!("GET /livez HTTP/1.0\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The address to ask a server that listens on this one: none can be reached by 0.0.0.0 itself.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
