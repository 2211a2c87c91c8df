//! The settings of nginx on the page `OPERATING.md`, and none at all.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::program::{Program, command, free_port};

const PAGE: &str = include_str!("../../../OPERATING.md");

struct Nginx {
    child: Child,
    port: u16,
}

impl Nginx {
    /// `None` if there is no nginx.
    fn start(folder: &Path, location: &str) -> Option<Self> {
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
        let child = Command::new("nginx")
            .arg("-c")
            .arg(file)
            .stderr(Stdio::null())
            .spawn();
        let child = unmet::need("nginx", child.ok())?;
        let mut nginx = Self { child, port };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = nginx.child.try_wait().expect("a process of ours");
            assert!(ended.is_none(), "nginx ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(nginx)
    }

    /// Begins a request, and returns the lines of its answer.
    fn lines(&self, head: &str) -> impl Iterator<Item = String> + use<> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("nginx accepts");
        let limit = Some(Duration::from_secs(30));
        stream.set_read_timeout(limit).expect("the limit is set");
        let sent = stream.write_all(head.as_bytes());
        sent.expect("the request is sent");
        BufReader::new(stream).lines().map_while(Result::ok)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// nginx once held events back until it had filled a buffer.
#[test]
fn events_pass_nginx_as_they_come() {
    let page = PAGE.split_once("```nginx\n").expect("the page has them").1;
    let on_page = page.split_once("```").expect("the block ends").0;
    let plain = "location / { proxy_pass http://127.0.0.1:8080; }";
    for location in [on_page, plain] {
        let server = Program::start(command());
        let folder = tempfile::tempdir().expect("the folder exists");
        let to_server = location.replace("127.0.0.1:8080", &server.address().to_string());
        let Some(nginx) = Nginx::start(folder.path(), &to_server) else {
            return;
        };
        for path in ["/dcb/subscribe", "/subscribe?category=account"] {
            let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
            let mut lines = nginx.lines(&head);
            let event = r#"{"events":{"type":"Opened","data":"{}","tags":["a:1"]}}"#;
            let message = r#"["stream.write","account-1",{"type":"Opened","data":{}}]"#;
            assert_eq!(server.call("POST", "/dcb/append", event).0, 200);
            assert_eq!(server.call("POST", "/rpc", message).0, 200);
            assert!(
                lines.any(|line| line.starts_with("data:") && line.len() > "data:".len()),
                "{path} through {location}"
            );
        }
    }
}
