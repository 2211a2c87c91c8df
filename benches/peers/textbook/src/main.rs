//! A conditional append on PostgreSQL as a service would write it: one table with an index over the
//! tags, and one function. `peer-textbook lock URL` takes an advisory lock in the function;
//! `peer-textbook serializable URL` runs it in a serializable transaction, and begins again when
//! PostgreSQL can't order it. `peer-textbook message-db FOLDER URL` calls Message DB's functions; the
//! folder has its npm package.

mod append_if;
mod message_db;

use peer_protocol::{Events, Hello, Messages, Promise, serve};
use std::io;

const SERVER: &str = "a commit waits for the server's flush";

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["lock", url] => {
            let hello = hello("append_if under an advisory lock");
            serve(hello, async {
                append_if::open(url, false).await.map(Events::new)
            })
        }
        ["serializable", url] => {
            let hello = hello("append_if, SERIALIZABLE");
            serve(hello, async {
                append_if::open(url, true).await.map(Events::new)
            })
        }
        ["message-db", folder, url] => {
            let hello = Hello::messages("Message DB", "1.3.1", SERVER);
            serve(hello, async {
                message_db::open(folder.as_ref(), url)
                    .await
                    .map(Messages::new)
            })
        }
        _ => Err(io::Error::other(
            "expected a variant and the URL of a database",
        )),
    }
}

fn hello(name: &str) -> Hello {
    Hello::events(name, "SQL", SERVER).promises(&[Promise::Exact, Promise::Fresh])
}
