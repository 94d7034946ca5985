//! Threads with plugins of their own, with mimalloc: `serve --workers N`. What is measured is in `app.rs`.

mod app;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    tsumugi::main(app::routes)
}
