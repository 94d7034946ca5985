//! Ctrl-C during long work of a client: says how far it got and ends the process, whatever the other threads wait for.

use std::io::Write as _;

use tsumugi_worker::ERRORS;

/// Exit code after Ctrl-C, as shells give it to what a signal ended.
const INTERRUPTED: i32 = 130;

/// Has `statement` printed when Ctrl-C or SIGTERM comes, from when this returns. Without a thread or a handler to spare, the signal ends the process as
/// usual.
pub fn report_on_interrupt(statement: impl FnOnce() -> String + Send + 'static) {
    use tokio::signal::unix::{SignalKind, signal};
    let (ready, begun) = std::sync::mpsc::channel::<()>();
    let watch = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            drop(ready);
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            std::io::Result::Ok(())
        })?;
        // There is no reader when it cannot be written.
        let _ = writeln!(&ERRORS, "tsumugi: interrupted: {}", statement());
        std::process::exit(INTERRUPTED)
    };
    let named = std::thread::Builder::new().name("kv-signals".to_owned());
    drop(named.spawn(move || -> std::io::Result<()> { watch() }));
    // Ends once the handlers are there, or will not be.
    let _ = begun.recv();
}
