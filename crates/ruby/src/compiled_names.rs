//! The names in what was compiled while an application loads, and which of them have no meaning here though they have one in CRuby.
//! Rule: a program is refused only for names that cannot have a meaning; whatever the application defines itself, or asks for by a Symbol, is its own.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use tsumugi_mruby::{NameUse, ProgramName, Scope, Value};

use crate::absent;

/// Names of the files that have been compiled while the application loads.
#[derive(Default)]
pub(crate) struct CompiledNames {
    loading: Cell<bool>,
    files: RefCell<Vec<(String, Vec<ProgramName>)>>,
    /// Names of the tables that files before these have defined.
    defined: RefCell<HashSet<String>>,
}

impl CompiledNames {
    /// From here on names are remembered, until they are looked at.
    pub fn begin(&self) {
        self.loading.set(true);
    }

    /// Remembers the names of a program of this file, which was compiled by the scope.
    pub fn add(&self, scope: &Scope<'_>, file: &str, program: Value<'_>) {
        if self.loading.get() {
            let names = scope.program_names(program);
            self.files.borrow_mut().push((file.to_owned(), names));
        }
    }

    fn take(&self) -> Vec<(String, Vec<ProgramName>)> {
        self.loading.set(false);
        std::mem::take(&mut self.files.borrow_mut())
    }

    /// Of a name in the tables: does the application define it, or ask for it by a Symbol or a String?
    fn note_defined(&self, files: &[(String, Vec<ProgramName>)]) {
        let mut defined = self.defined.borrow_mut();
        let names = files.iter().flat_map(|(_, names)| names);
        for name in names.filter(|name| is_definition(name.used)) {
            if absent::is_absent(&name.name) {
                defined.insert(name.name.clone());
            }
        }
    }

    /// What the application names and is not here, as `file:line: what, and what to use`, of everything that was compiled while it loaded.
    pub fn absences(&self, is_constant: impl Fn(&str) -> bool) -> Vec<String> {
        let files = self.take();
        self.note_defined(&files);
        let defined = self.defined.borrow();
        let names = files.iter().flat_map(|(_, names)| names);
        let definitions = names.filter(|name| is_definition(name.used));
        let meanings = Meanings {
            defined: &defined,
            own: definitions.map(|name| name.name.as_str()).collect(),
        };
        let mut absences = Vec::new();
        for (file, names) in &files {
            let captures = captured_names(names);
            for name in names {
                let Some(text) = absence(name, &meanings, &captures) else {
                    continue;
                };
                if name.used != NameUse::Constant || !is_constant(&name.name) {
                    absences.push(format!("{file}:{}: {text}", name.line));
                }
            }
        }
        absences.dedup();
        absences
    }
}

/// Symbols and Strings count: by them a program asks whether something is there, or makes it.
fn is_definition(used: NameUse) -> bool {
    matches!(
        used,
        NameUse::ConstantDefined
            | NameUse::MethodDefined
            | NameUse::GlobalSet
            | NameUse::Symbol
            | NameUse::Text
    )
}

/// Whether a name has a meaning that the application gave it.
struct Meanings<'a> {
    defined: &'a HashSet<String>,
    /// All names that the files at hand define.
    own: HashSet<&'a str>,
}

/// The names of groups in a file's regular expressions.
fn captured_names(names: &[ProgramName]) -> HashSet<&str> {
    let texts = names.iter().filter(|name| name.used == NameUse::Text);
    let groups = texts.flat_map(|text| text.name.split("(?<").skip(1));
    let named = groups.filter_map(|group| Some(group.split_once('>')?.0));
    named
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .collect()
}

fn absence(
    name: &ProgramName,
    meanings: &Meanings<'_>,
    captures: &HashSet<&str>,
) -> Option<String> {
    let text = name.name.as_str();
    if meanings.defined.contains(text) || meanings.own.contains(text) {
        return None;
    }
    match name.used {
        NameUse::Constant => absent::constant(text),
        NameUse::Global => absent::global(text),
        NameUse::OwnCall if text == "it" => absent::method("", text),
        NameUse::OwnCall if captures.contains(text) => Some(absent::captured_variable(text)),
        // Backquotes are such a call.
        NameUse::Call if text != "`" => None,
        NameUse::Call => absent::own_method(text),
        NameUse::OwnCall | NameUse::OwnCallWith => {
            absent::own_method(text).or_else(|| match meanings.own.contains("method_missing") {
                true => None,
                false => absent::sinatra_word(text),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_names_are_found_in_texts() {
        let name = |used, name: &str| ProgramName {
            used,
            name: name.to_owned(),
            line: 1,
        };
        let names = [
            name(NameUse::Text, "(?<year>\\d+)-(?<month>\\d+)(?<=x)(?<!y)"),
            name(NameUse::Symbol, "(?<no>)"),
        ];
        assert_eq!(captured_names(&names), HashSet::from(["year", "month"]));
    }
}
