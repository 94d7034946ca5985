//! Threads with plugins of their own, with mimalloc: `serve --workers N`. What is measured is in `app.rs`.

mod app;

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

fn main() -> std::process::ExitCode {
    tsumugi::main(app::routes)
}
