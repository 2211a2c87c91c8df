//! Ends a run of all tests: prints which did not run, and which tool each needs.

use unmet::{Run, VARIABLE};

fn main() {
    let lines = Run::of_this_process().take();
    if lines.is_empty() {
        println!("\nevery test had the tools that it needs");
        return;
    }
    println!("\nnot run ({}):", lines.len());
    for line in &lines {
        println!("  {line}");
    }
    println!("Set {VARIABLE}=\"\" to make each of these a failure.");
}
