//! Which password goes to a host: the configuration's, else the password file's. It sends nothing.
//! Rule: the file is read for each connection, off the thread, so that a new password counts at once; one that others may read
//! is not used, and an error says so if the password was needed.

use std::path::PathBuf;

use tsumugi_pg_proto::{Error, Refusal};
use tsumugi_wire::off_thread;

use crate::config::{Config, Host, Passfile, Secret};
use crate::error::Cause;
use crate::files::read_bounded;
use crate::platform;

/// The password, and what to say when there is none.
pub struct PasswordSource {
    pub password: Option<Secret>,
    hint: String,
}

/// Looks for it.
pub async fn find(config: &Config, host: &Host) -> Result<PasswordSource, Cause> {
    let usual = "give it in the URL or in PGPASSWORD";
    let (password, hint) = match (&config.password, &config.passfile) {
        (Some(password), _) => (Some(password.clone()), String::new()),
        (None, None) => (None, usual.to_owned()),
        (None, Some(path)) => {
            let (shown, path) = (path.display().to_string(), path.clone());
            match off_thread(move || read(path)).await? {
                Ok(text) => {
                    let password = Passfile(&text).password(config, host);
                    (
                        password,
                        format!("{usual}, or add a line for this host to {shown}"),
                    )
                }
                Err(reason) => (None, format!("{usual}; {shown} is not used: {reason}")),
            }
        }
    };
    Ok(PasswordSource { password, hint })
}

/// The text, or why there is none.
fn read(path: PathBuf) -> Result<String, String> {
    match platform::exposed(&path) {
        Ok(None) => read_bounded(&path).map_err(|error| error.to_string()),
        Ok(Some(reason)) => Err(reason.to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err("it does not exist".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

impl PasswordSource {
    /// Says where a password that is missing may come from.
    pub fn explain(&self, cause: Cause) -> Cause {
        match cause {
            Cause::Startup(Error::Refused(Refusal::PasswordMissing)) => {
                Cause::PasswordMissing(self.hint.clone())
            }
            cause => cause,
        }
    }
}
