//! What `jobs db` has said: where jobs are kept, and how they are run. Runs none. Rule: it is said once the database is there, and before a job is pushed.

use tsumugi_jobs::{JobQueue, WorkerOptions};

/// What `jobs db` said.
pub(crate) struct JobSetup {
    pub queue: JobQueue,
    pub options: WorkerOptions,
}
