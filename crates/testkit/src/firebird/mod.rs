//! Throwaway Firebird servers for tests: own security database, free port, gone with the process. Not a driver, and used by tests only.
//! What fails here panics and says what to do, because a test has no better answer; nothing is skipped in silence.
//!
//! ```no_run
//! let database = tsumugi_testkit::firebird::Server::shared().database();
//! database.isql("create table word (text varchar(20));");
//! println!("{}", database.url());
//! ```

mod limits;
mod programs;
mod server;
mod template;
mod user;

pub use self::server::{FirebirdDatabase, Options, Server};
pub use self::user::User;
