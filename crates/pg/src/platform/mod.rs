//! What only some systems have: UNIX sockets, the user's name, permissions of files, a socket's user timeout.
//! Rule: no other part of this crate asks which system it is compiled for, and both halves offer the same names.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use self::elsewhere::*;
#[cfg(unix)]
pub use self::unix::*;
