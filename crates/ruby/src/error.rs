//! Why an application does not load or an operation cannot start. Errors of handlers stay in Ruby.

use std::path::PathBuf;

use tsumugi_mruby::{ExceptionReport, Raise, Scope, SyntaxError};

use crate::absent;
use crate::frames;

/// Errors that an author of an application sees.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read. Check the path.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file is no Ruby.
    #[error("{}", describe_syntax(errors, source_text))]
    Syntax {
        /// What the parser says; at least one.
        errors: Vec<SyntaxError>,
        /// The file's text, to quote the line from.
        source_text: String,
    },
    /// The application names what CRuby has and this Ruby has not. Write what the texts say.
    #[error("{}", absences.join("\n"))]
    Absent {
        /// `file:line: what is absent, and what to use`, in the order of the files; at least one.
        absences: Vec<String>,
    },
    /// The application raised while it loaded.
    #[error("{}", describe(report))]
    Raised {
        /// The exception.
        report: ExceptionReport,
    },
    /// Two routes answer the same requests, or a pattern is wrong.
    #[error("{location}: {source}")]
    Route {
        /// `file:line` of the route.
        location: String,
        /// What the router says.
        source: tsumugi_http::Error,
    },
    /// A folder of `public` cannot be read. Make it, or mend its path, which is beside the application file.
    #[error("{location}: public: cannot read {}: {source}", path.display())]
    Folder {
        /// `file:line` of `public`.
        location: String,
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The VM does not fit its memory limit.
    #[error(transparent)]
    Vm(#[from] tsumugi_mruby::OpenError),
    /// What `jobs` and `job` say is outside of a limit.
    #[error(transparent)]
    Jobs(#[from] tsumugi_jobs::Error),
    /// A variable of the environment that says where mails go cannot be used.
    #[error(transparent)]
    Mail(#[from] tsumugi_mail::Error),
    /// The product's own Ruby is broken: a bug of Tsumugi.
    #[error("the prelude does not load: {0}")]
    Prelude(String),
}

impl Error {
    /// For what was raised.
    pub(crate) fn raised(scope: &Scope<'_>, raised: Raise<'_>) -> Error {
        let report = scope.report(raised);
        Error::Raised { report }
    }
}

fn describe(report: &ExceptionReport) -> String {
    let mut frames = frames::shown(report).into_iter();
    let mut text = frames
        .next()
        .map_or_else(String::new, |frame| format!("{frame}: "));
    text.push_str(&report.to_string());
    for frame in frames {
        text.push_str("\n        from ");
        text.push_str(&frame);
    }
    text
}

fn describe_syntax(errors: &[SyntaxError], source: &str) -> String {
    let mut text = String::new();
    for (i, error) in errors.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        text.push_str(&error.to_string());
        let line = usize::try_from(error.line)
            .unwrap_or(0)
            .checked_sub(1)
            .and_then(|n| source.lines().nth(n));
        if let Some(line) = line {
            text.push_str("\n    ");
            text.push_str(line.trim_end());
        }
        // What follows such a complaint comes of it.
        if let Some(other) = absent::syntax(error, line.unwrap_or_default(), source) {
            text.push('\n');
            text.push_str(&other);
            break;
        }
    }
    text
}
