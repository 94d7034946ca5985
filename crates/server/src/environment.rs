//! Variables as an application sees them: those that its settings say before those of the process. Holds none.

use std::collections::HashMap;

/// A variable of an application whose settings say these ones; none where neither has it, or it is not UTF-8.
#[must_use]
pub fn environment_variable(said: &HashMap<String, String>, name: &str) -> Option<String> {
    let said = said.get(name).cloned();
    said.or_else(|| std::env::var(name).ok())
}
