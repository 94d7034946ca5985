//! Throwaway PostgreSQL servers for tests: own data directory, free port, gone with the process. Not a driver, and used by tests only.
//! What fails here panics and says what to do, because a test has no better answer; nothing is skipped in silence.
//!
//! ```no_run
//! let database = tsumugi_testkit::postgres::Server::shared().database();
//! database.psql("create table word (text text)");
//! println!("{}", database.url());
//! ```

pub(crate) mod certificates;
mod limits;
mod pooler;
pub(crate) mod process_user;
pub(crate) mod programs;
pub(crate) mod psql;
mod server;
mod template;
mod user;
mod world;

pub use self::certificates::{Certificates, Dates, PostgresTls};
pub use self::pooler::Pooler;
pub use self::programs::find as find_program;
pub use self::server::{FrozenServer, Options, PostgresDatabase, Server};
pub use self::user::User;
