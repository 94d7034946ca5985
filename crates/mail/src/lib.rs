//! Mail over SMTP, for one worker: what a mail is, where it goes, a pool of connections, limits. The messages and the commands of SMTP are lettre's.
//! Rule: nothing here waits but its own future, which may be dropped at any moment: the connection then ends, and the server may have the mail.

#![forbid(unsafe_code)]

mod address;
mod connection;
mod error;
mod limits;
mod mailer;
mod message;
mod settings;
mod test_mails;

pub use self::address::SmtpUrl;
pub use self::error::Error;
pub use self::limits::MailLimits;
pub use self::mailer::Mailer;
pub use self::message::{Attachment, Mail};
pub use self::settings::{MailContext, MailSettings, MailTarget};
pub use self::test_mails::TestMails;
