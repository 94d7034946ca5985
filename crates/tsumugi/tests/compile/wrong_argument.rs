//! A handler whose second argument is no extractor. Must not compile, and the compiler names it.

use tsumugi::{Router, State, get};

struct Visitor;

async fn handler(_: State<()>, _: Visitor) -> &'static str {
    "hello"
}

fn main() {
    let _ = Router::<()>::new().route("/", get(handler));
}
