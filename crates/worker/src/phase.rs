//! What a server is doing as a whole, for whoever supervises the process. Decides nothing.

use std::fmt;

/// What a server begins to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerPhase {
    /// All workers have loaded the application for the first time, and are about to accept connections.
    Loaded,
    /// It serves: at the start, and again after a reload, however that went.
    Serving,
    /// It loads the application anew, and serves with the old one meanwhile.
    Reloading,
    /// It was asked to end. Its listeners close after `drain_delay`.
    Ending,
}

/// Called at each change, on the thread of the control loop: it must not block for long.
#[derive(Default)]
pub(crate) struct PhaseObserver(Vec<Box<dyn FnMut(ServerPhase) + Send>>);

impl PhaseObserver {
    pub fn add(&mut self, observer: Box<dyn FnMut(ServerPhase) + Send>) {
        self.0.push(observer);
    }

    pub fn tell(&mut self, phase: ServerPhase) {
        for observer in &mut self.0 {
            observer(phase);
        }
    }
}

impl fmt::Debug for PhaseObserver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("PhaseObserver")
            .field(&self.0.len())
            .finish()
    }
}
