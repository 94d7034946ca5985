//! A handler that returns what is no response. Must not compile, and the compiler names it.

use tsumugi::{Router, get};

struct Page;

async fn handler() -> Page {
    Page
}

fn main() {
    let _ = Router::<()>::new().route("/", get(handler));
}
