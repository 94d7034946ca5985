//! Every bound of this crate, by name. Rule: a queue, a message or a wait that has no bound here does not exist.

use std::time::Duration;

/// Longest name of a kind of jobs or of a queue.
pub const JOB_NAME_BYTES_MAX: usize = 64;
/// Longest key of `unique` or of an effect that happens once.
pub const JOB_KEY_BYTES_MAX: usize = 128;
/// Most bytes of the JSON text of a job's arguments.
pub const JOB_ARGUMENTS_BYTES_MAX: usize = 64 * 1024;
/// Kinds of jobs that one application declares.
pub const JOB_KINDS_MAX: usize = 500;
/// Jobs that one worker runs at once, unless the application says otherwise.
pub const JOBS_RUNNING_DEFAULT: usize = 10;
/// Most jobs that one worker may be told to run at once.
pub const JOBS_RUNNING_MAX: usize = 1_000;
/// Jobs that one statement claims.
pub const JOB_CLAIMS_MAX: usize = 100;
/// Jobs whose time has come that one statement makes ready.
pub const JOBS_PROMOTED_MAX: usize = 1_000;
/// Dead jobs that one statement makes ready.
pub(crate) const JOBS_RETRIED_MAX: usize = 1_000;
/// Keys of old times of schedules that one statement drops.
pub(crate) const SCHEDULE_KEYS_DROPPED_MAX: usize = 1_000;
/// Claims that one statement renews on SQLite and Firebird.
pub(crate) const CLAIMS_RENEWED_MAX: usize = 100;
/// Ends of jobs and notices that are written together; others wait for the next time.
pub(crate) const GROUP_MAX: usize = 1_000;
/// How often a job may be begun again after a failure.
pub const JOB_RETRIES_MAX: u32 = 1_000;
/// How often a job may be lost with its process and begun again, which is no failure; as often as it has retries, where these are more. Then it is dead, so
/// that one that ends its process does not do so for ever.
pub const JOB_LOSSES_MAX: u32 = 5;
/// Retries unless the kind says otherwise.
pub const JOB_RETRIES_DEFAULT: u32 = 5;
/// How long a job may run.
pub const JOB_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long one may run unless its kind says otherwise.
pub const JOB_TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);
/// Greatest priority; its negative is the least.
pub const JOB_PRIORITY_MAX: i32 = 1_000;
/// How long after it was pushed a job may be due: a hundred years.
pub const JOB_DELAY_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
/// For how long a job is claimed. The claim is renewed when a third of that has passed.
pub const JOB_LEASE_DEFAULT: Duration = Duration::from_secs(30);
/// Shortest claim: below it a busy machine alone would lose jobs.
pub const JOB_LEASE_MIN: Duration = Duration::from_millis(500);
/// Longest claim: a job whose process died waits that long to be begun again.
pub const JOB_LEASE_MAX: Duration = Duration::from_secs(60 * 60);
/// How long jobs may go on once their worker is to end, unless the application says otherwise.
pub const JOB_GRACE_DEFAULT: Duration = Duration::from_secs(20);
/// The longest such time.
pub const JOB_GRACE_MAX: Duration = Duration::from_secs(60 * 60);
/// Bytes of the text that is kept of a failure; the rest is in the log.
pub const JOB_ERROR_BYTES_MAX: usize = 4_000;
/// Jobs that one call lists.
pub const JOBS_LISTED_MAX: usize = 1_000;
/// Jobs of one state that are counted for operators.
pub const JOBS_COUNTED_MAX: usize = 10_000;
/// How often a process counts them at most.
pub const JOB_FIGURES_EVERY: Duration = Duration::from_secs(10);
/// Longest line of cron, and longest name of a zone.
pub const CRON_LINE_BYTES_MAX: usize = 100;
/// Longest time between two looks at the clock, which may have been set, and at whether the next job of a schedule is in the table.
pub(crate) const SCHEDULE_LOOK_MAX: Duration = Duration::from_secs(60);
/// How long a schedule's key is kept, which says that the job of that time was pushed.
pub(crate) const SCHEDULE_KEYS_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Longest pause after a first failure; it doubles with each, and half of it is by chance.
pub(crate) const BACK_OFF_MIN: Duration = Duration::from_secs(2);
/// Longest pause after a failure.
pub(crate) const BACK_OFF_MAX: Duration = Duration::from_secs(60 * 60);
/// How often the table is looked at where nothing says that a job was pushed.
pub const JOB_POLL_DEFAULT: Duration = Duration::from_secs(1);
/// How often it is looked at where PostgreSQL notifies: a notification can be lost, and a claim that runs out sends none.
pub const JOB_POLL_WITH_NOTICES: Duration = Duration::from_secs(5);
/// Shortest time between two looks at the table.
pub const JOB_POLL_MIN: Duration = Duration::from_millis(10);
/// Longest time between two looks at the table.
pub const JOB_POLL_MAX: Duration = Duration::from_secs(60 * 60);
/// First pause before a database that failed is asked again; it doubles.
pub(crate) const FAILURE_PAUSE_MIN: Duration = Duration::from_millis(100);
/// Longest such pause.
pub(crate) const FAILURE_PAUSE_MAX: Duration = Duration::from_secs(5);
/// How often a worker tries to write the end of a job while the database fails. After that the claim runs out, and the job is begun again.
pub(crate) const RECORDS_MAX: u32 = 8;
/// How long a renewal of claims may go on, where a quarter of their time is less. Then another one begins, over another connection.
pub(crate) const RENEWAL_MIN: Duration = Duration::from_secs(2);
/// How often a worker that runs jobs looks whether the machine has slept.
pub(crate) const SLEEP_LOOKED_EVERY: Duration = Duration::from_secs(1);
/// Shortest sleep of the machine that counts: clocks that are read one behind the other differ by less.
pub(crate) const SLEEP_MIN: Duration = Duration::from_millis(500);
/// A look that takes longer than this and finds no job is not repeated at once.
pub(crate) const LOOK_TIME_FREE: Duration = Duration::from_millis(20);
/// How many times as long as it took the next one is waited for then, up to [`JOB_POLL_DEFAULT`]: jobs that this worker may not run are passed over one by
/// one, and may be many.
pub(crate) const LOOK_PAUSE_FACTOR: u32 = 9;
/// How long a worker that ends tries to give back what it has claimed.
pub(crate) const GIVE_BACK_MAX: Duration = Duration::from_secs(5);
/// How often a worker looks whether the session that listens is still there, so that nothing on the way forgets it either.
pub(crate) const LISTENER_CHECKED_EVERY: Duration = Duration::from_secs(2);
/// How long its answer may take. Then it is taken for lost.
pub(crate) const LISTENER_CHECK_MAX: Duration = Duration::from_secs(5);
/// By how much the clock of claims may differ from that of this process between two looks. Beyond it was set, and claims of processes that are there may seem
/// to have run out until they are renewed.
pub(crate) const CLOCK_STEP_MAX: Duration = Duration::from_secs(1);
/// Jobs whose claims have run out that one statement reads.
pub(crate) const EXPIRED_MAX: usize = 100;
/// How long a worker that always finds jobs goes on without a look at what is due and at claims that have run out.
pub(crate) const LOOK_SKIPPED_MAX: Duration = Duration::from_millis(200);
/// How often workers look for jobs whose processes have died, while some run.
pub(crate) const ORPHANS_EVERY: Duration = Duration::from_secs(1);
/// For how long a job must seem to be left before it is begun again: a session that was only lost, or went with its server, is there again by then.
pub(crate) const ORPHAN_DOUBT: Duration = Duration::from_secs(2);
