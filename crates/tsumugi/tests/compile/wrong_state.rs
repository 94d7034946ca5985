//! A handler of another plugin. Must not compile.

use tsumugi::{Router, State, get};

struct Other;

async fn handler(_: State<Other>) -> &'static str {
    "hello"
}

fn main() {
    let _ = Router::<()>::new().route("/", get(handler));
}
