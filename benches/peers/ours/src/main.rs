//! Our stores: `peer-ours memory`, `sqlite FOLDER`, `postgres URL`, `messages sqlite FOLDER`,
//! `messages postgres URL` or `series FOLDER`. `serve URL PORT` serves events to UmaDB's client, until stdin ends.

mod blocking;
mod content;
mod events;
mod grpc;
mod messages;
mod series;

use dcb_core::sqlite::Config;
use peer_protocol::{Events, Hello, Messages, Promise, TimeSeries, serve};
use std::io;
use std::path::Path;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const FILE: &str = "a commit waits for the file's flush";
const SERVER: &str = "a commit waits for the server's flush";

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["memory"] => {
            let hello = events_hello("dcb-core, SQLite in memory", "none");
            serve(hello, async {
                blocking::open(Config::memory()).await.map(Events::new)
            })
        }
        ["postgres", url] => {
            let hello = events_hello("dcb-core on PostgreSQL", SERVER);
            serve(hello, async { events::open(url).await.map(Events::new) })
        }
        ["sqlite", folder] => {
            let hello = events_hello("dcb-core in a SQLite file", FILE);
            let file = Path::new(folder).join("events.sqlite");
            serve(hello, async {
                blocking::open(Config::file(file)).await.map(Events::new)
            })
        }
        ["messages", "postgres", url] => {
            let hello = Hello::messages("message-store on PostgreSQL", VERSION, SERVER);
            serve(hello, async {
                messages::open(url).await.map(Messages::new)
            })
        }
        ["messages", "sqlite", folder] => {
            let hello = Hello::messages("message-store in a SQLite file", VERSION, FILE);
            let file = format!("sqlite:{folder}/messages.sqlite");
            serve(hello, async {
                messages::open(&file).await.map(Messages::new)
            })
        }
        ["series", folder] => {
            let hello = Hello::series("tsdb", VERSION, "a write waits for the log's flush");
            serve(hello, async { series::open(folder).map(TimeSeries::new) })
        }
        ["serve", url, port] => grpc::serve(url, port),
        _ => Err(io::Error::other(
            "expected a store and where it keeps its data",
        )),
    }
}

fn events_hello(name: &str, durability: &str) -> Hello {
    Hello::events(name, VERSION, durability).promises(&Promise::ALL)
}
