//! The same as `main.rs` with the system's allocator.

mod app;

fn main() -> std::process::ExitCode {
    tsumugi::main(app::routes)
}
