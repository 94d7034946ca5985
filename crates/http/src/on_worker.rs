//! The worker as this crate wants it: something that starts tasks and takes blocking work. Holds nothing of its own.

use std::io;

use tsumugi_worker::WorkerHandle;

use crate::handler::Spawn;
use crate::upload::Offload;

/// Tasks run under the worker's watchdog, blocking work on the process-wide pool.
#[derive(Clone, Debug)]
pub struct OnWorker(pub WorkerHandle);

impl Spawn for OnWorker {
    fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        drop(self.0.spawn(future));
    }
}

impl Offload for OnWorker {
    async fn offload<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let done = self.0.offload(work).await;
        done.map_err(io::Error::other).flatten()
    }

    fn later(&self, work: impl FnOnce() + Send + 'static) {
        drop(self.0.offload(work));
    }
}
