//! What went wrong in Ruby, as owned data: exceptions and syntax errors that outlive the VM's own objects.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;

/// An exception, described: class, message and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExceptionReport {
    /// The class's name, for instance `ArgumentError`.
    pub class: String,
    /// The message, as UTF-8.
    pub message: String,
    /// Innermost frame first, each `file:line` or `file:line:in method`.
    pub backtrace: Vec<String>,
}

impl ExceptionReport {
    /// Whether the exception is about a name without a meaning.
    pub fn is_unknown_name(&self) -> bool {
        matches!(self.class.as_str(), "NameError" | "NoMethodError")
    }
}

impl fmt::Display for ExceptionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

/// One complaint of the parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The file as it was named to the compiler.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 0.
    pub column: u32,
    /// The parser's words.
    pub message: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// Collects what the compiler of one file says.
pub(crate) struct SyntaxErrors {
    pub(crate) file: String,
    pub(crate) errors: Vec<SyntaxError>,
}

/// # Safety
/// `errors` is the `SyntaxErrors` handed to `ts_compile`; `message` is a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_syntax_error(
    errors: *mut c_void,
    line: i32,
    column: i32,
    message: *const c_char,
) {
    // SAFETY: both come from the `ts_compile` call that is running.
    let (errors, message) =
        unsafe { (&mut *errors.cast::<SyntaxErrors>(), CStr::from_ptr(message)) };
    let error = SyntaxError {
        file: errors.file.clone(),
        line: line.try_into().unwrap_or(0),
        column: column.try_into().unwrap_or(0),
        message: message.to_string_lossy().into_owned(),
    };
    errors.errors.push(error);
}
