//! A handler that is no async function. Must not compile.

use tsumugi::{Router, get};

fn handler() -> &'static str {
    "hello"
}

fn main() {
    let _ = Router::<()>::new().route("/", get(handler));
}
