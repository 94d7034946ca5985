//! A safe binding to an embedded mruby 3.2 VM. Knows Ruby values, calls, fibres and limits; knows no HTTP, no futures.
//!
//! Its rules: a VM stays on its thread; Rust enters it through [`Vm::enter`], and values live as long as that scope;
//! a Ruby exception never unwinds through Rust and a Rust panic never through C; a fibre waits only where a native
//! defined as waiting says so.
//!
//! ```
//! use tsumugi_mruby::{Options, Vm};
//! let vm = Vm::open(Options::default()).unwrap();
//! vm.enter(|scope| {
//!     let program = scope.compile(b"[1, 2, 3].map { |i| i * 2 }.sum", "example.rb", 1).unwrap();
//!     let twelve = scope.run(program).unwrap_or_else(|raised| raised.0);
//!     assert_eq!(twelve.as_integer(), Some(12));
//! });
//! ```

mod carried;
mod compound;
mod entries;
pub mod faults;
mod fibre;
mod global;
mod held;
mod interrupt;
pub mod limits;
mod memory;
mod names;
mod native;
mod report;
mod root;
mod scope;
mod sys;
pub mod text;
mod value;
mod vm;

pub use compound::Field;
pub use interrupt::Interrupter;
pub use native::{Call, Reply, Waits};
pub use report::{Report, SyntaxError};
pub use root::Root;
pub use scope::Scope;
pub use value::{Kind, Raise, Result, Symbol, Value};
pub use vm::{OpenError, Options, Vm};
