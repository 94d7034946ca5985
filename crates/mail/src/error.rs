//! Why a mail was not sent, and whether another attempt can help. Not what to do about it.
//! Texts name the server, never the user, the password or what a mail says.

/// What went wrong.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing was sent. Fix the mail.
    #[error("{0}")]
    Mail(String),
    /// Nothing was sent. Say where mail goes.
    #[error("no mail server is known: set SMTP_URL, as in smtps://user:password@mail.example.org")]
    NoServer,
    /// Fix `SMTP_URL`. Its text is not shown, it may hold a password.
    #[error("SMTP_URL {0}")]
    Url(&'static str),
    /// Fix `MAIL_FROM`. Its text is not shown either.
    #[error("MAIL_FROM is no address: write app@example.org or App <app@example.org>")]
    Sender,
    /// Retry later. The server may have the mail when it was about to confirm it.
    #[error("mail was not taken by {place} within mail.send_ms_max ({ms} ms)")]
    Timeout {
        /// Host and port.
        place: String,
        /// The limit in milliseconds.
        ms: u64,
    },
    /// Nothing was sent. Retry later.
    #[error("cannot connect to {place}: {reason}")]
    Connect {
        /// Host and port.
        place: String,
        /// What the system or the protocol says.
        reason: String,
    },
    /// The server refuses the mail, one of its recipients or the user.
    #[error("{place} refuses the mail: {reply}")]
    Refused {
        /// Host and port.
        place: String,
        /// Code and text of the server.
        reply: String,
        /// Whether another attempt can help, by the code: of 4xx it may.
        is_transient: bool,
    },
    /// The server broke off or broke the rules. It may have the mail.
    #[error("the connection to {place} failed: {reason}")]
    Protocol {
        /// Host and port.
        place: String,
        /// What the system or the protocol says.
        reason: String,
    },
    /// The folder for mails of development cannot be written.
    #[error("the mail cannot be written to {}: {reason}", path.display())]
    Folder {
        /// The file or the folder.
        path: std::path::PathBuf,
        /// What the system says.
        reason: String,
    },
}

impl Error {
    /// Whether the same mail may be taken later.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Timeout { .. } | Error::Connect { .. } | Error::Protocol { .. } => true,
            Error::Refused { is_transient, .. } => *is_transient,
            _ => false,
        }
    }

    /// What went wrong, without a word of the server's or of the mail.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Error::Mail(_) | Error::Sender => "mail",
            Error::NoServer | Error::Url(_) => "no server",
            Error::Timeout { .. } => "timeout",
            Error::Connect { .. } => "no connection",
            Error::Refused { .. } => "refused",
            Error::Protocol { .. } => "connection lost",
            Error::Folder { .. } => "folder",
        }
    }

    /// Of the conversation with a server.
    pub(crate) fn of(place: &str, error: lettre::transport::smtp::Error) -> Error {
        let place = place.to_owned();
        let mut reason = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !reason.contains(&cause_text) {
                reason.push_str(": ");
                reason.push_str(&cause_text);
            }
            source = cause.source();
        }
        match error.status() {
            Some(_) => Error::Refused {
                place,
                reply: reason,
                is_transient: error.is_transient(),
            },
            None => Error::Protocol { place, reason },
        }
    }
}
