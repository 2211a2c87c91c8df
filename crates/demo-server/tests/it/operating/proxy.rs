//! The settings of nginx and of Caddy on the page `OPERATING.md`, and of nginx none at all.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::program::{Program, command, free_port};

const PAGE: &str = include_str!("../../../OPERATING.md");

struct Proxy {
    child: Child,
    port: u16,
}

impl Proxy {
    /// `None` if there is no nginx.
    fn nginx(folder: &Path, location: &str) -> Option<Self> {
        let port = free_port();
        let at = folder.display();
        let settings = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/errors;\n\
             events {{}}\n\
             http {{\n access_log off; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy;\n\
             fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
             server {{ listen 127.0.0.1:{port};\n{location}\n}} }}\n"
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, settings).expect("it is written");
        let mut command = Command::new("nginx");
        command.arg("-c").arg(file);
        Self::start("nginx", command, port)
    }

    /// `None` if there is no Caddy. It answers for every name, without a certificate.
    fn caddy(folder: &Path, site: &str) -> Option<Self> {
        let port = free_port();
        let site = site.replace("registrar.example.com", &format!("http://:{port}"));
        let file = folder.join("Caddyfile");
        std::fs::write(&file, format!("{{\n admin off\n}}\n{site}")).expect("it is written");
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config"]);
        command.arg(file).env("HOME", folder);
        Self::start("caddy", command, port)
    }

    fn start(program: &str, mut command: Command, port: u16) -> Option<Self> {
        let child = command.stderr(Stdio::null()).spawn();
        let child = unmet::need(program, child.ok())?;
        let mut proxy = Self { child, port };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = proxy.child.try_wait().expect("a process of ours");
            assert!(ended.is_none(), "{program} ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(proxy)
    }

    /// Begins a request, and returns the lines of its answer.
    fn lines(&self, head: &str) -> impl Iterator<Item = String> + use<> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the proxy accepts");
        let limit = Some(Duration::from_secs(30));
        stream.set_read_timeout(limit).expect("the limit is set");
        let sent = stream.write_all(head.as_bytes());
        sent.expect("the request is sent");
        BufReader::new(stream).lines().map_while(Result::ok)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The block of this kind on the page.
fn on_page(kind: &str) -> &'static str {
    let begin = format!("```{kind}\n");
    let rest = PAGE.split_once(&begin).expect("the page has the block").1;
    rest.split_once("```").expect("the block ends").0
}

/// Subscribes through the proxy, then appends and writes.
fn events_pass(proxy: &Proxy, server: &Program) {
    for path in ["/dcb/subscribe", "/subscribe?category=account"] {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let mut lines = proxy.lines(&head);
        let event = r#"{"events":{"type":"Opened","data":"{}","tags":["a:1"]}}"#;
        let message = r#"["stream.write","account-1",{"type":"Opened","data":{}}]"#;
        assert_eq!(server.call("POST", "/dcb/append", event).0, 200);
        assert_eq!(server.call("POST", "/rpc", message).0, 200);
        assert!(
            lines.any(|line| line.starts_with("data:") && line.len() > "data:".len()),
            "{path}"
        );
    }
}

/// nginx once held events back until it had filled a buffer.
#[test]
fn events_pass_nginx_as_they_come() {
    let plain = "location / { proxy_pass http://127.0.0.1:8080; }";
    for location in [on_page("nginx"), plain] {
        let server = Program::start(command());
        let folder = tempfile::tempdir().expect("the folder exists");
        let to_server = location.replace("127.0.0.1:8080", &server.address().to_string());
        match Proxy::nginx(folder.path(), &to_server) {
            Some(nginx) => events_pass(&nginx, &server),
            None => return,
        }
    }
}

#[test]
fn events_pass_caddy_as_they_come() {
    let server = Program::start(command());
    let folder = tempfile::tempdir().expect("the folder exists");
    let to_server = on_page("caddy").replace("127.0.0.1:8080", &server.address().to_string());
    if let Some(caddy) = Proxy::caddy(folder.path(), &to_server) {
        events_pass(&caddy, &server);
    }
}
