//! Settings of a store by name, as every engine takes them. Knows no engine. Rule: the value of a setting is not shown.

use crate::error::{Error, Result};

/// Settings of a store by name, as texts: keywords in Ruby, methods in Rust, `?name=value` in a URL.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoreSettings(Vec<(String, String)>);

impl StoreSettings {
    /// Sets one; the last of a name counts.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let name = name.into();
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value.into()));
    }

    /// With another one.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> StoreSettings {
        self.set(name, value);
        self
    }

    /// The text of a setting.
    pub fn find(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter();
        let found = all.find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All of them, in the order in which they were set.
    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// Refuses what is not `known` for `kind` of store.
    pub(crate) fn check(&self, kind: &'static str, known: &[&str]) -> Result<()> {
        let mut names = self.0.iter();
        match names.find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => Err(Error::Setting {
                kind,
                name: name.clone(),
                known: known.join(", "),
            }),
        }
    }
}

/// Only the names: a value may be a secret.
impl std::fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}
