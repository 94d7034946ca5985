//! `cargo xtask site FOLDER`: gathers the pages of the documentation for mdBook, a book for each language. It makes no HTML, and needs no mdBook.
//! A page stands in its book where it stands in the repository, so that links between pages need no change; a page of `docs/ja/` stands where its
//! English one does.
//! Rule: the pages of a book are those of its SUMMARY.md. A link to another file of the documentation takes it along; one that leads to sources becomes
//! its text, because they are not on the site. What mdBook has made of it is looked at by `dead_links`.

mod dead_links;
mod line_breaks;
mod links;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use crate::Verdict;
use crate::tidy::{markdown, resolve};
use crate::tree::{Texts, Tree};
pub use dead_links::check_links;
use links::{Target, rewrite};

/// The settings of mdBook, for the English book.
const SETTINGS: &str = "docs/book.toml";

/// The style and scripts that the settings name; they stand beside them in each book.
const ASSETS: &str = "docs/site/";

/// A language of the documentation.
pub struct Language {
    pub code: &'static str,
    /// What a link to its pages is called.
    name: &'static str,
    /// The table of contents.
    pub summary: &'static str,
    /// Where its book is on the site, from the start of the site.
    folder: &'static str,
    /// What is said on a page that only the other language has, with a space behind it.
    untranslated: &'static str,
}

pub const ENGLISH: Language = Language {
    code: "en",
    name: "English",
    summary: "docs/SUMMARY.md",
    folder: "",
    untranslated: "",
};

pub const JAPANESE: Language = Language {
    code: "ja",
    name: "日本語",
    summary: "docs/ja/SUMMARY.md",
    folder: "ja/",
    untranslated: "このページは英語だけです。 ",
};

impl Language {
    /// Where a page of the repository stands in the book of its language.
    pub fn place(&self, path: &str) -> String {
        if self.code == JAPANESE.code {
            if let Some(rest) = path.strip_prefix("docs/ja/") {
                return format!("docs/{rest}");
            }
            if path == "README.ja.md" {
                return "README.md".to_owned();
            }
        }
        path.to_owned()
    }
}

/// A book that is to be made.
struct Book {
    language: &'static Language,
    /// The pages of the repository by their places.
    pages: BTreeMap<String, String>,
}

/// Writes a folder for each book below `folder`, with its settings.
pub fn gather(root: &Path, folder: &Path) -> io::Result<Verdict> {
    let texts = Texts::read(root)?;
    let tree = texts.tree();
    let books: Vec<Book> = [&ENGLISH, &JAPANESE]
        .into_iter()
        .filter(|language| tree.has(language.summary))
        .map(|language| Book::of(&tree, language))
        .collect();
    for book in &books {
        let target = folder.join(book.language.code);
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        let source = target.join("src");
        let others = books
            .iter()
            .filter(|it| it.language.code != book.language.code);
        let others: Vec<&Book> = others.collect();
        let mut files = BTreeSet::new();
        for (place, path) in &book.pages {
            let text = book.page(&tree, (place, path), &others, &mut files);
            write(&source.join(place), text.as_bytes())?;
        }
        write(&source.join("SUMMARY.md"), book.summary(&tree).as_bytes())?;
        for path in files {
            let bytes = fs::read(root.join(&path))?;
            write(&source.join(book.language.place(&path)), &bytes)?;
        }
        for asset in tree.files().filter(|file| file.path.starts_with(ASSETS)) {
            let at = asset.path.trim_start_matches("docs/");
            write(&target.join(at), asset.text.as_bytes())?;
        }
        let settings = book.settings(tree.text(SETTINGS));
        write(&target.join("book.toml"), settings.as_bytes())?;
        println!("{}: {} pages", book.language.name, book.pages.len());
    }
    Ok(Verdict::Clean)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}

/// The paths that a table of contents names, in its order.
pub fn pages_of(tree: &Tree, summary: &str) -> Vec<String> {
    let links = markdown::read(tree.text(summary)).links;
    let paths = links
        .iter()
        .filter_map(|(_, target)| resolve(summary, target));
    paths.collect()
}

impl Book {
    fn of(tree: &Tree, language: &'static Language) -> Book {
        let paths = pages_of(tree, language.summary).into_iter();
        let pages = paths.map(|path| (language.place(&path), path)).collect();
        Book { language, pages }
    }

    /// The text of a page with links that lead on; `files` gets what it takes along.
    fn page(
        &self,
        tree: &Tree,
        (place, path): (&str, &str),
        others: &[&Book],
        files: &mut BTreeSet<String>,
    ) -> String {
        let text = rewrite(tree.text(path), |link| {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let Some(target) = resolve(path, target) else {
                return Target::Nothing;
            };
            let anchor = match anchor.is_empty() {
                true => String::new(),
                false => format!("#{anchor}"),
            };
            let at = self.language.place(&target);
            // A page that is not translated leads to pages that are; their headings have other names.
            let is_any = path == place && anchor.is_empty();
            let page = self.pages.get(&at);
            if page.is_some_and(|page| is_any || *page == target) {
                // mdBook makes the index of a README.
                let at = match at.strip_suffix("README.md") {
                    Some(folder) => format!("{folder}index.md"),
                    None => at,
                };
                return Target::Link(format!("{}{anchor}", relative(place, &at)));
            }
            if let Some(book) = others.iter().find(|book| book.has(&target)) {
                return Target::Link(format!("{}{anchor}", self.across(place, book, &target)));
            }
            let is_file = tree
                .file(&target)
                .is_some_and(|file| matches!(file.extension(), "svg" | "png" | "html" | "json"));
            if !is_file {
                return Target::Nothing;
            }
            files.insert(target);
            Target::Link(relative(place, &at))
        });
        let other = others.iter().find_map(|book| {
            let target = book.pages.get(place)?;
            let link = self.across(place, book, target);
            let note = match target == path {
                true => self.language.untranslated,
                false => "",
            };
            Some(format!("*{note}[{}]({link})*", book.language.name))
        });
        let text = line_breaks::join(&text);
        match (other, text.split_once('\n')) {
            (Some(other), Some((title, rest))) => format!("{title}\n\n{other}\n{rest}"),
            _ => text,
        }
    }

    fn has(&self, path: &str) -> bool {
        self.pages.values().any(|page| page == path)
    }

    /// The address of a page of another book, from a page of this one.
    fn across(&self, place: &str, book: &Book, path: &str) -> String {
        let from = format!("{}{place}", self.language.folder);
        let to = format!("{}{}", book.language.folder, book.language.place(path));
        let to = match to.strip_suffix("README.md") {
            Some(folder) => format!("{folder}index.html"),
            None => format!("{}.html", to.trim_end_matches(".md")),
        };
        relative(&from, &to)
    }

    /// The table of contents, from the root of the book.
    fn summary(&self, tree: &Tree) -> String {
        rewrite(tree.text(self.language.summary), |link| {
            match resolve(self.language.summary, link) {
                Some(path) => Target::Link(self.language.place(&path)),
                None => Target::Nothing,
            }
        })
    }

    fn settings(&self, english: &str) -> String {
        let line = format!("language = \"{}\"", self.language.code);
        english.replace("language = \"en\"", &line)
    }
}

/// The path from the file `from` to `to`, both from one root.
fn relative(from: &str, to: &str) -> String {
    let from: Vec<&str> = from.split('/').collect();
    let to: Vec<&str> = to.split('/').collect();
    let folders = from[..from.len() - 1].iter().zip(&to[..to.len() - 1]);
    let same = folders.take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", from.len() - 1 - same);
    up.chain(to[same..].iter().copied())
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] = &[
        (
            "README.md",
            "# T\n\nIn [Japanese](README.ja.md), [guide](docs/guide.md).",
        ),
        ("README.ja.md", "# T\n\n[guide](docs/ja/guide.md)"),
        (
            "docs/SUMMARY.md",
            "# S\n\n- [T](../README.md)\n- [G](guide.md)\n- [H](how-to/h.md)\n- [R](r.md)\n",
        ),
        (
            "docs/ja/SUMMARY.md",
            "# S\n\n- [T](../../README.ja.md)\n- [G](guide.md)\n- [R](../r.md)\n",
        ),
        (
            "docs/guide.md",
            "# G\n\n[h](how-to/h.md#x) ![p](p.svg) [code](../crates/a.rs) [web](https://a.example)\n",
        ),
        (
            "docs/ja/guide.md",
            "# G\n\n[h](../how-to/h.md#x) ![p](../p.svg) [top](#g)\n",
        ),
        (
            "docs/how-to/h.md",
            "# H\n\n[g](../guide.md) [t](../../README.md#t)\n",
        ),
        ("docs/r.md", "# R\n\n[g](guide.md) [x](guide.md#g)\n"),
        ("docs/p.svg", "<svg/>"),
        ("crates/a.rs", ""),
    ];

    /// A page of the book of a language, with the files that it takes along.
    fn check(language: &'static Language, place: &str, expected: &str, files: &[&str]) {
        let tree = Tree::new(FILES.iter().copied());
        let books = [&ENGLISH, &JAPANESE].map(|language| Book::of(&tree, language));
        let (own, others): (Vec<_>, Vec<_>) = books
            .iter()
            .partition(|book| book.language.code == language.code);
        let path = &own[0].pages[place];
        let mut along = BTreeSet::new();
        let text = own[0].page(&tree, (place, path), &others, &mut along);
        assert_eq!(text, expected);
        assert_eq!(along.iter().map(|file| &**file).collect::<Vec<_>>(), files);
    }

    #[test]
    fn links_of_english_pages_stay_and_lead_to_the_other_language() {
        check(
            &ENGLISH,
            "docs/guide.md",
            "# G\n\n*[日本語](../ja/docs/guide.html)*\n\n[h](how-to/h.md#x) ![p](p.svg) code [web](https://a.example)\n",
            &["docs/p.svg"],
        );
        check(
            &ENGLISH,
            "docs/how-to/h.md",
            "# H\n\n[g](../guide.md) [t](../../index.md#t)\n",
            &[],
        );
        check(
            &ENGLISH,
            "README.md",
            "# T\n\n*[日本語](ja/index.html)*\n\nIn [Japanese](ja/index.html), [guide](docs/guide.md).",
            &[],
        );
    }

    #[test]
    fn page_that_is_not_translated_is_linked_in_english() {
        check(
            &JAPANESE,
            "docs/guide.md",
            "# G\n\n*[English](../../docs/guide.html)*\n\n[h](../../docs/how-to/h.html#x) ![p](p.svg) [top](#g)\n",
            &["docs/p.svg"],
        );
        check(
            &JAPANESE,
            "README.md",
            "# T\n\n*[English](../index.html)*\n\n[guide](docs/guide.md)",
            &[],
        );
    }

    #[test]
    fn page_that_is_not_translated_says_so_and_leads_to_those_that_are() {
        check(
            &JAPANESE,
            "docs/r.md",
            "# R\n\n*このページは英語だけです。 [English](../../docs/r.html)*\n\n[g](guide.md) [x](../../docs/guide.html#g)\n",
            &[],
        );
        check(
            &ENGLISH,
            "docs/r.md",
            "# R\n\n*[日本語](../ja/docs/r.html)*\n\n[g](guide.md) [x](guide.md#g)\n",
            &[],
        );
    }

    #[test]
    fn table_of_contents_names_places_of_the_book() {
        let tree = Tree::new(FILES.iter().copied());
        let english = Book::of(&tree, &ENGLISH).summary(&tree);
        assert_eq!(
            english,
            "# S\n\n- [T](README.md)\n- [G](docs/guide.md)\n- [H](docs/how-to/h.md)\n- [R](docs/r.md)\n"
        );
        let japanese = Book::of(&tree, &JAPANESE).summary(&tree);
        assert_eq!(
            japanese,
            "# S\n\n- [T](README.md)\n- [G](docs/guide.md)\n- [R](docs/r.md)\n"
        );
    }
}
