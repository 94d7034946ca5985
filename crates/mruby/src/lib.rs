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
//!
//! # How Ruby is embedded
//!
//! - mruby 3.2 is compiled by `crates/mruby/build.rs` from the sources that the package `mruby3-sys` carries and the C files in `generated`, with
//!   the gems of `build_config.rb` (none that blocks or ends the process) and the settings of `defines.txt`: UTF-8 strings, 64-bit integers,
//!   unboxed values (exact floats), big integers, an instruction hook. The package itself is never compiled. mruby's float parser loses
//!   bits, so the shim has its own.
//! - A `longjmp` never crosses a Rust frame. What can raise runs under `mrb_protect_error` in C and answers a status; natives
//!   answer a status and the C trampoline raises or yields after Rust has returned. A Rust panic never crosses C:
//!   that of a native fails its call (a RuntimeError), one in a callback of the collector or the hook ends the process.
//! - A fibre that is resumed with an exception raises it where it waits: the instruction hook, set for that moment, raises before the
//!   first instruction behind the call. So no Ruby looks at what a wait ended with.
//! - From 3.2 on, `Fiber#resume` refuses to run below a C call. A one-line program, `f.resume(v)`, runs at the base of the
//!   root context instead, which is also cheaper than a call.
//! - Corrections are made to the copied sources before they are compiled; `build/corrections.rs` and the files that it names list them with their
//!   reasons (`return` from a
//!   block inside a lambda, bare `raise`, keywords, linear searches, full tables of constants).
//! - Values live as long as a `Scope`; what must outlive it is a `Root`. An object that carries Rust data owns it and the
//!   collector drops it.
//! - A fibre is a loop that takes job after job; parked ones stay where they are, idle ones are reused.
//! - The collector is incremental, not generational. In generational mode a minor collection is one stop, and a major one usually
//!   ends in another for the whole heap; an incremental step is short unless one big Array is written to all the time. Generations
//!   save time only with very many long-lived objects. `GC.generational_mode = true` is safe all the same:
//!   `crates/mruby/tests/collector.rs` runs in both modes.
//! - What a fibre stores on its stack passes no write barrier; the collector must see the stack again. A fibre that parks is
//!   painted gray for that. Two gaps of mruby 3.2 are closed by corrections. In generational mode a full collection begun in
//!   the sweep of a major one forgot what was gray, so what only a parked fibre referred to was freed. In both modes what a
//!   fibre stored last was not seen again once it had ended, though a block may still refer to its variables.
//! - The table of what native code protects (the arena) grows beyond `vm_bytes_max`, so that protecting a value and leaving a protected call
//!   cannot raise. What cannot fail midway (compiling, a few copies) asks for room first and is then not refused. Scopes have levels
//!   (`src/open_scopes.rs`): an inner one releases nothing that an outer one took.
//! - Memory is counted by the VM's own allocator on top of the process's. Beyond `vm_bytes_max` Ruby gets NoMemoryError, and a
//!   reserve opens so that `rescue` and `ensure` can still run.

mod carried_data;
mod code;
mod compound;
mod entries;
pub mod faults;
mod fibre;
mod global;
mod interrupt;
pub mod limits;
mod memory;
mod names;
mod native;
mod open_scopes;
mod program_names;
mod report;
mod root;
mod scope;
mod sys;
pub mod text;
mod value;
mod vm;

pub use code::{Instruction, MethodCode, Step};
pub use compound::RecordField;
pub use interrupt::Interrupter;
pub use native::{NativeCall, NativeReply, Suspension};
pub use program_names::{NameUse, ProgramName};
pub use report::{ExceptionReport, SyntaxError};
pub use root::Root;
pub use scope::Scope;
pub use value::{Kind, Raise, Result, Symbol, Value};
pub use vm::{OpenError, Options, Vm};
