//! Throwaway servers for mail: a small one in this process, which can misbehave, and a real one, aiosmtpd. Neither passes any mail on.
//! Rule: what they have taken can be looked at; both end with their values.

mod aiosmtpd;
mod small;

pub use self::aiosmtpd::{AioSmtpd, AioSmtpdTls};
pub use self::small::{SmtpFault, SmtpServer, TakenMail};
