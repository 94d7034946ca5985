//! Links between files of the repository. Addresses on the web are not asked.
//! Rule: every relative link in a Markdown file leads to a file or directory of the project.

use percent_encoding::percent_decode_str;

use super::{Findings, markdown};
use crate::tree::Tree;

pub fn findings(tree: &Tree, found: &mut Findings) {
    for file in tree.files().filter(|file| file.extension() == "md") {
        for (line, target) in markdown::read(file.text).links {
            let path = target.split(['#', '?']).next().unwrap_or(&target);
            let path = percent_decode_str(path).decode_utf8_lossy();
            let leads = |path: String| tree.has(&path);
            if !path.is_empty()
                && !is_absolute(&target)
                && !resolve(file.path, &path).is_some_and(leads)
            {
                found.add(file.path, line, format!("the link {target} leads nowhere"));
            }
        }
    }
}

/// `https:`, `mailto:` and the like.
fn is_absolute(target: &str) -> bool {
    let is_of_scheme =
        |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    !scheme.is_empty() && scheme.chars().all(is_of_scheme)
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
