//! A real authority of ACME for tests: pebble, which is made for that, with names that lead to this machine. Knows no server that asks it.

mod late_port;
mod loopback_names;
mod pebble;

pub use self::late_port::LatePort;
pub use self::pebble::{Pebble, PebbleSettings};
