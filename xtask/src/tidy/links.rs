//! Links between files of the repository. Addresses on the web are not asked.
//! Rule: every relative link in a Markdown file leads to a file or directory of the project, and what stands behind its `#` is a heading there; none is
//! a path of Rust, which only rustdoc follows.

use percent_encoding::percent_decode_str;

use super::{Findings, markdown};
use crate::tree::Tree;

pub fn findings(tree: &Tree, found: &mut Findings) {
    for file in tree.files().filter(|file| file.extension() == "md") {
        for (line, target) in markdown::read(file.text).links {
            if is_absolute(&target) {
                if target.contains("::") {
                    let message = format!("the link {target} is one for rustdoc");
                    found.add(file.path, line, message);
                }
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = path.split('?').next().unwrap_or(path);
            let [path, anchor] =
                [path, anchor].map(|it| percent_decode_str(it).decode_utf8_lossy());
            let to = match path.is_empty() {
                true => Some(file.path.to_owned()),
                false => resolve(file.path, &path).filter(|path| tree.has(path)),
            };
            let Some(to) = to else {
                found.add(file.path, line, format!("the link {target} leads nowhere"));
                continue;
            };
            let is_page = !anchor.is_empty() && to.ends_with(".md");
            if is_page && !markdown::read(tree.text(&to)).anchors.contains(&*anchor) {
                found.add(
                    file.path,
                    line,
                    format!("{to} has no heading for the link {target}"),
                );
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
pub(crate) fn resolve(from: &str, target: &str) -> Option<String> {
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
            "[a](../README.md) ![b](b%20c.md \"t\") [c](<b c.md>) [d](/docs) [e](..)",
            &[],
        );
        check("[a]: ../README.md\n", &[]);
    }

    #[test]
    fn headings_are_found_by_their_anchors() {
        check(
            "## Two `words`, more\n## Two\n## Two\n### 日本\n[a](#two-words-more) [b](#two-1) [c](a.md#日本)",
            &[],
        );
        check(
            "# Top\n[a](#here)\n[b](../README.md#top)",
            &[
                "docs/a.md:2: docs/a.md has no heading for the link #here",
                "docs/a.md:3: README.md has no heading for the link ../README.md#top",
            ],
        );
    }

    #[test]
    fn addresses_are_not_asked() {
        check("[a](https://example.com/x) [b](mailto:a@example.com)", &[]);
    }

    #[test]
    fn paths_of_rust_are_refused() {
        check(
            "[a](crate::A)",
            &["docs/a.md:1: the link crate::A is one for rustdoc"],
        );
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
