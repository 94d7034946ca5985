//! Names of tables and columns as their author writes them: `users`, `users.id`, `public.users`. Quoting is the writer's.
//! Rule: a name is text without meaning; only dots, a last `*` and ` as ` are looked at, and only where this file says so.

use std::sync::Arc;

/// A name, of which dots separate the parts: `users.id` is the column `id` of `users`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    text: Arc<str>,
    dots: Dots,
}

/// What a dot in a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Dots {
    Separate,
    Literal,
}

impl Name {
    /// A name whose dots are part of it. Such a name cannot be qualified.
    pub fn exact(name: &str) -> Self {
        // Where there is nothing to take literally, it is the same name either way.
        let dots = if name.contains('.') || name == "*" {
            Dots::Literal
        } else {
            Dots::Separate
        };
        let text = name.into();
        Self { text, dots }
    }

    /// The name as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its parts from the left.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        let mut rest = Some(&*self.text);
        let separate = self.dots == Dots::Separate;
        std::iter::from_fn(move || {
            let text = rest?;
            let (part, after) = match text.split_once('.').filter(|_| separate) {
                Some((part, after)) => (part, Some(after)),
                None => (text, None),
            };
            rest = after;
            Some(part)
        })
    }

    /// Whether it means every column, of the table before the last dot if there is one.
    pub(crate) fn is_every_column(&self) -> bool {
        self.dots == Dots::Separate && self.last() == "*"
    }

    /// The last part: of `users.id`, `id`.
    pub fn last(&self) -> &str {
        match self.dots {
            Dots::Separate => self.text.rsplit('.').next().unwrap_or(&self.text),
            Dots::Literal => &self.text,
        }
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        let (text, dots) = (name.into(), Dots::Separate);
        Self { text, dots }
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<&String> for Name {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}

/// `name as alias` in its parts; the word `as` in any case, between spaces.
pub(crate) fn aliased(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    let at = text
        .as_bytes()
        .windows(4)
        .position(|bytes| bytes.eq_ignore_ascii_case(b" as "));
    // What surrounds four ASCII characters is whole.
    let split = at.and_then(|at| text.get(..at).zip(text.get(at + 4..)));
    match split {
        Some((name, alias)) => (name.trim(), Some(alias.trim())),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &Name, expected: &[&str]) {
        assert_eq!(name.parts().collect::<Vec<_>>(), expected);
        assert_eq!(Some(&name.last()), expected.last());
    }

    #[test]
    fn dots_separate_unless_the_name_is_exact() {
        check(&"users".into(), &["users"]);
        check(&"app.users.id".into(), &["app", "users", "id"]);
        check(&"".into(), &[""]);
        check(&"a.".into(), &["a", ""]);
        check(&Name::exact("a.b"), &["a.b"]);
        assert_eq!(Name::exact("a"), Name::from("a"));
    }

    #[test]
    fn as_names_an_alias() {
        assert_eq!(aliased("users"), ("users", None));
        assert_eq!(aliased("users as u"), ("users", Some("u")));
        assert_eq!(aliased(" users  AS  u "), ("users", Some("u")));
        assert_eq!(aliased("has"), ("has", None));
    }
}
