//! Variables as an application sees them. Holds none. Rule: a variable of the settings stands before one of the process.

use std::collections::HashMap;

/// A variable of the application: that of its settings, else that of the process. `None` where neither has it, or where it is not UTF-8.
#[must_use]
pub fn environment_variable(settings: &HashMap<String, String>, name: &str) -> Option<String> {
    let variable = settings.get(name).cloned();
    variable.or_else(|| std::env::var(name).ok())
}
