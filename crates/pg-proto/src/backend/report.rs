//! Errors and notices of the server. Does not decide what they mean for the connection.
//! The fields are those of the manual's chapter "Error and Notice Message Fields".
//! Rule: a field that is not known is skipped; `Display` and `Debug` never show the DETAIL or the context, which may hold data.

use std::fmt;

use crate::error::Violation;
use crate::sqlstate::SqlState;
use crate::wire::Reader;

/// How bad it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For debugging the server.
    Debug,
    /// For the server's log.
    Log,
    /// What the user asked to know.
    Info,
    /// What may interest the user.
    Notice,
    /// Something is probably wrong.
    Warning,
    /// The statement failed.
    #[default]
    Error,
    /// The connection is over.
    Fatal,
    /// All connections of the server are over.
    Panic,
}

impl Severity {
    fn new(text: &[u8]) -> Option<Self> {
        Some(match text {
            b"DEBUG" => Self::Debug,
            b"LOG" => Self::Log,
            b"INFO" => Self::Info,
            b"NOTICE" => Self::Notice,
            b"WARNING" => Self::Warning,
            b"ERROR" => Self::Error,
            b"FATAL" => Self::Fatal,
            b"PANIC" => Self::Panic,
            _ => return None,
        })
    }

    /// Whether the server closes the connection after saying this.
    pub fn ends_connection(self) -> bool {
        self >= Self::Fatal
    }
}

/// An error or notice as it lies in its message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Report<'a>(Reader<'a>);

impl<'a> Report<'a> {
    /// Everything is looked at, so that the walk later cannot fail.
    pub(super) fn read(reader: Reader<'a>) -> Result<Self, Violation> {
        let mut rest = reader;
        while rest.u8("fields")? != 0 {
            rest.text_bytes("report's field")?;
        }
        rest.end("fields")?;
        Ok(Self(reader))
    }

    /// The fields with their letters in the server's order.
    pub fn fields(self) -> impl Iterator<Item = (u8, &'a [u8])> {
        let mut reader = self.0;
        std::iter::from_fn(move || {
            let letter = reader.u8("fields").ok().filter(|letter| *letter != 0)?;
            Some((letter, reader.text_bytes("report's field").ok()?))
        })
    }

    /// The severity: the untranslated one, or the other where a server older than 9.6 sends no more.
    pub fn severity(self) -> Severity {
        let find = |wanted| {
            let mut fields = self.fields();
            fields.find_map(|(letter, text)| (letter == wanted).then_some(text))
        };
        let text = find(b'V').or_else(|| find(b'S'));
        text.and_then(Severity::new).unwrap_or(Severity::Error)
    }
}

impl fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&ServerError::from(*self), f)
    }
}

/// An error or notice of the server, kept.
#[non_exhaustive]
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServerError {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of error it is.
    pub code: SqlState,
    /// What happened, in the server's language.
    pub message: String,
    /// More about it; often holds data of rows.
    pub detail: Option<String>,
    /// What might help.
    pub hint: Option<String>,
    /// Where in the SQL text, in characters from 1.
    pub position: Option<u32>,
    /// Where in [`Self::internal_query`], in characters from 1.
    pub internal_position: Option<u32>,
    /// The SQL text that the server made up itself.
    pub internal_query: Option<String>,
    /// The call stack of functions; may hold data.
    pub context: Option<String>,
    /// The schema of what it is about.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The data type.
    pub data_type: Option<String>,
    /// The constraint; an index counts as one.
    pub constraint: Option<String>,
    /// Where in the server's sources, for debugging it.
    pub file: Option<String>,
    /// The line in [`Self::file`].
    pub line: Option<u32>,
    /// The function in [`Self::file`].
    pub routine: Option<String>,
}

impl From<Report<'_>> for ServerError {
    fn from(report: Report<'_>) -> Self {
        let mut error = Self {
            severity: report.severity(),
            ..Self::default()
        };
        for (letter, text) in report.fields() {
            error.set(letter, text);
        }
        error
    }
}

impl ServerError {
    fn set(&mut self, letter: u8, text: &[u8]) {
        // Before the encodings are agreed on, texts come in the server's own.
        let owned = || Some(String::from_utf8_lossy(text).into_owned());
        let number = || std::str::from_utf8(text).ok()?.parse().ok();
        match letter {
            b'C' => self.code = SqlState::new(text).unwrap_or_default(),
            b'M' => self.message = String::from_utf8_lossy(text).into_owned(),
            b'D' => self.detail = owned(),
            b'H' => self.hint = owned(),
            b'P' => self.position = number(),
            b'p' => self.internal_position = number(),
            b'q' => self.internal_query = owned(),
            b'W' => self.context = owned(),
            b's' => self.schema = owned(),
            b't' => self.table = owned(),
            b'c' => self.column = owned(),
            b'd' => self.data_type = owned(),
            b'n' => self.constraint = owned(),
            b'F' => self.file = owned(),
            b'L' => self.line = number(),
            b'R' => self.routine = owned(),
            _ => {}
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {}", self.message, self.code)?;
        if let Some(name) = self.code.name() {
            write!(f, ", {name}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerError")
            .field("severity", &self.severity)
            .field("code", &self.code)
            .field("message", &self.message)
            .field("hint", &self.hint)
            .field("position", &self.position)
            .field("table", &self.table)
            .field("column", &self.column)
            .field("constraint", &self.constraint)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for ServerError {}
