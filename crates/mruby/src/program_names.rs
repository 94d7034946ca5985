//! The names that a compiled program uses, read from its instructions. Nothing is run, and what a name will mean is not known here.

use std::ffi::{c_char, c_int, c_void};

use crate::scope::{Scope, protected};
use crate::value::{Kind, Value};

/// How a program uses a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameUse {
    /// A constant is read by its own name, without a module before it.
    Constant,
    /// A constant, class or module is defined.
    ConstantDefined,
    /// A method is called without receiver, arguments and block: it looks like a variable.
    OwnCall,
    /// A method is called without receiver, with arguments or a block.
    OwnCallWith,
    /// A method of a receiver is called.
    Call,
    /// A method is defined by `def` or `alias`.
    MethodDefined,
    /// A global is read.
    Global,
    /// A global is set.
    GlobalSet,
    /// A Symbol stands there.
    Symbol,
    /// A String, or a part of one: of regular expressions too.
    Text,
}

/// In the order of `enum ts_name_use`.
const USES: [NameUse; 10] = [
    NameUse::Constant,
    NameUse::ConstantDefined,
    NameUse::OwnCall,
    NameUse::OwnCallWith,
    NameUse::Call,
    NameUse::MethodDefined,
    NameUse::Global,
    NameUse::GlobalSet,
    NameUse::Symbol,
    NameUse::Text,
];

/// A name in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramName {
    /// How it is used.
    pub used: NameUse,
    /// The name (of a global with its `$`), or the String.
    pub name: String,
    /// The line, from 1; 0 when it is not known.
    pub line: u32,
}

impl Scope<'_> {
    /// The names that a compiled program uses, with all that is inside it. Empty when the VM has no room to look.
    pub fn program_names(&self, program: Value<'_>) -> Vec<ProgramName> {
        assert_eq!(program.kind(), Kind::Proc, "names of what is no program");
        let mut names: Vec<ProgramName> = Vec::new();
        let context = (&raw mut names).cast::<c_void>();
        // SAFETY: the tag was checked; `names` is alive during the call.
        let read = protected!(self, unsafe ts_program_names(program.raw, context));
        if read.is_err() {
            names.clear();
        }
        names
    }
}

/// # Safety
/// `names` is the Vec handed to `ts_program_names`; `name` has `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_program_name(
    names: *mut c_void,
    used: c_int,
    name: *const c_char,
    len: usize,
    line: i32,
) {
    // SAFETY: both come from the `ts_program_names` call that is running.
    let (names, bytes) = unsafe {
        let names = &mut *names.cast::<Vec<ProgramName>>();
        (names, std::slice::from_raw_parts(name.cast::<u8>(), len))
    };
    let used = usize::try_from(used).ok().and_then(|i| USES.get(i));
    if let Some(&used) = used {
        names.push(ProgramName {
            used,
            name: String::from_utf8_lossy(bytes).into_owned(),
            line: line.try_into().unwrap_or(0),
        });
    }
}
