//! What a configuration may look at beside its text: variables, the system's user, the home directory. Read once, as values.
//! Rule: tests and embedders make their own; only `of_process` looks at the process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::platform;

/// What surrounds the program.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    user: Option<String>,
    home: Option<PathBuf>,
    socket_directory: Option<PathBuf>,
}

impl Environment {
    /// Nothing at all.
    pub fn empty() -> Environment {
        Environment::default()
    }

    /// That of this process. Looks at the system's list of users and at one directory: call it while loading.
    pub fn of_process() -> Environment {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("PG"))
            .collect();
        Environment {
            variables,
            user: platform::user_name(),
            home: std::env::home_dir(),
            socket_directory: platform::socket_directory(),
        }
    }

    /// Sets a variable.
    pub fn with_variable(mut self, name: &str, value: &str) -> Environment {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the system's name of the user, the default role.
    pub fn with_user(mut self, name: &str) -> Environment {
        self.user = Some(name.to_owned());
        self
    }

    /// Sets the directory of `.pgpass`, `.pg_service.conf` and `.postgresql`.
    pub fn with_home(mut self, directory: &Path) -> Environment {
        self.home = Some(directory.to_owned());
        self
    }

    /// Sets the directory of the UNIX socket that is the default host; without one it is `localhost`.
    pub fn with_socket_directory(mut self, directory: &Path) -> Environment {
        self.socket_directory = Some(directory.to_owned());
        self
    }

    /// A variable that says something.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let value = self.variables.get(name)?;
        (!value.is_empty()).then(|| value.clone())
    }

    pub(super) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    pub(super) fn socket_directory(&self) -> Option<&Path> {
        self.socket_directory.as_deref()
    }
}
