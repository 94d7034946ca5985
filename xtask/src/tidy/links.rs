//! Links between files of the repository. Addresses on the web are not asked.
//! Rule: every relative link in a Markdown file leads to a file or directory of the project.

use super::{Finding, markdown};
use crate::tree::Tree;

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.extension() == "md") {
        for (line, text) in markdown::prose(&file.text) {
            for target in targets(&text) {
                let path = decode(target.split(['#', '?']).next().unwrap_or(target));
                if !path.is_empty()
                    && !is_absolute(target)
                    && !resolve(&file.path, &path).is_some_and(|path| tree.has(&path))
                {
                    findings.push(Finding::new(
                        &file.path,
                        line,
                        format!("the link {target} leads nowhere"),
                    ));
                }
            }
        }
    }
    findings
}

/// What `[text](target)`, `![alt](target "title")` and `[name]: target` on one line point to.
fn targets(line: &str) -> Vec<&str> {
    let inline = line.split("](").skip(1).map(|rest| {
        let rest = rest.trim_start();
        match rest.strip_prefix('<') {
            Some(rest) => rest.split('>').next().unwrap_or(rest),
            None => rest.split([')', ' ', '\t']).next().unwrap_or(rest),
        }
    });
    let definition = line
        .trim_start()
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]:"))
        .filter(|(name, _)| !name.contains(']'));
    inline
        .chain(definition.and_then(|(_, target)| target.split_whitespace().next()))
        .collect()
}

/// `https:`, `mailto:` and the like.
fn is_absolute(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.chars().all(|character| {
                character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.')
            })
    })
}

/// The path from the root that `target` in the file `from` means; `None` when it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = if target.starts_with('/') {
        Vec::new()
    } else {
        from.split('/').collect()
    };
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Undoes percent-encoding; what is not a valid escape stays as it is.
fn decode(target: &str) -> String {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits
            .filter(|_| first == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text is docs/a.md in a tree that also has README.md and `docs/b c.md`.
    fn check(text: &str, expected: &[&str]) {
        super::super::assert_findings(
            findings,
            &[("README.md", ""), ("docs/b c.md", ""), ("docs/a.md", text)],
            expected,
        );
    }

    #[test]
    fn links_to_files_and_directories_are_taken() {
        check(
            "[a](../README.md#top) ![b](b%20c.md \"t\") [c](<b c.md>) [d](/docs) [e](..) [f](#here)",
            &[],
        );
        check("[a]: ../README.md\n", &[]);
    }

    #[test]
    fn addresses_are_not_asked() {
        check("[a](https://example.com/x) [b](mailto:a@example.com)", &[]);
    }

    #[test]
    fn dead_links_are_refused() {
        check(
            "a\n[b](c.md) and [d](../../e)",
            &[
                "docs/a.md:2: the link c.md leads nowhere",
                "docs/a.md:2: the link ../../e leads nowhere",
            ],
        );
        check(
            "[a]: gone.md",
            &["docs/a.md:1: the link gone.md leads nowhere"],
        );
    }

    #[test]
    fn links_in_code_are_no_links() {
        check("`[a](b)`\n```\n[a](b)\n```\n", &[]);
    }
}
