//! `cargo xtask site-links FOLDER`: the site that mdBook has built there, and whether what its pages lead to is there. It reads HTML as mdBook writes
//! it, and asks no other server.
//! Rule: an address without a scheme leads to a file of the site, and what stands behind its `#` is an id there. One with a scheme is of the web, and only the schemes that pages use are
//! taken: anything else with a colon is a slip, as a path of Rust is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use percent_encoding::percent_decode_str;

use crate::Verdict;
use crate::tidy::resolve;

/// What links of pages may begin with, beside paths; an icon of mdBook's is `data:`.
const SCHEMES: [&str; 4] = ["http://", "https://", "data:", "mailto:"];

/// A page as far as links need it.
#[derive(Default)]
struct Page {
    ids: BTreeSet<String>,
    links: Vec<String>,
}

/// Prints every link that leads nowhere.
pub fn check_links(folder: &Path) -> io::Result<Verdict> {
    let mut files = BTreeMap::new();
    walk(folder, "", &mut files)?;
    let findings = findings(&files);
    for finding in &findings {
        println!("{finding}");
    }
    let pages = files.values().flatten();
    let (count, links) = pages.fold((0, 0), |(count, links), page| {
        (count + 1, links + page.links.len())
    });
    println!("{count} pages, {links} links, {} dead", findings.len());
    Ok(Verdict::of(findings.is_empty()))
}

/// The files below `folder` by their paths, read where they are pages.
fn walk(folder: &Path, path: &str, files: &mut BTreeMap<String, Option<Page>>) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(path))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = match path.is_empty() {
            true => name,
            false => format!("{path}/{name}"),
        };
        if entry.file_type()?.is_dir() {
            walk(folder, &path, files)?;
        } else {
            let page = match path.ends_with(".html") {
                true => Some(read(&fs::read_to_string(entry.path())?)),
                false => None,
            };
            files.insert(path, page);
        }
    }
    Ok(())
}

fn findings(files: &BTreeMap<String, Option<Page>>) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, page) in files {
        for link in page.iter().flat_map(|page| &page.links) {
            if let Some(fault) = fault(files, path, link) {
                findings.push(format!("{path}: the link {link} {fault}"));
            }
        }
    }
    findings
}

fn fault(files: &BTreeMap<String, Option<Page>>, path: &str, link: &str) -> Option<&'static str> {
    if SCHEMES.iter().any(|scheme| link.starts_with(scheme)) {
        return None;
    }
    if link.contains(':') {
        return Some("is no address of the web");
    }
    let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = target.split('?').next().unwrap_or(target);
    let [target, anchor] = [target, anchor].map(|it| percent_decode_str(it).decode_utf8_lossy());
    let to = match target.is_empty() {
        true => Some(path.to_owned()),
        false => resolve(path, &target),
    };
    let to = to.map(|to| match to.is_empty() || target.ends_with('/') {
        true => format!("{to}/index.html")
            .trim_start_matches('/')
            .to_owned(),
        false => to,
    });
    let Some(file) = to.and_then(|to| files.get(&to)) else {
        return Some("leads nowhere");
    };
    match file {
        Some(page) if !anchor.is_empty() && !page.ids.contains(&*anchor) => {
            Some("leads to no heading")
        }
        _ => None,
    }
}

/// What the tags of a page say; scripts and comments are skipped.
fn read(html: &str) -> Page {
    let mut page = Page::default();
    let mut rest = html;
    while let Some((_, behind)) = rest.split_once('<') {
        if let Some(comment) = behind.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let (tag, behind) = behind.split_once('>').unwrap_or((behind, ""));
        page.ids.extend(attribute(tag, "id"));
        page.links.extend(attribute(tag, "href"));
        page.links.extend(attribute(tag, "src"));
        rest = match tag.starts_with("script") {
            true => behind.split_once("</script").map_or("", |(_, rest)| rest),
            false => behind,
        };
    }
    page
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let opening = format!("{name}=\"");
    let is_whole = |at: &usize| tag[..*at].ends_with(char::is_whitespace);
    let mut places = tag.match_indices(&opening).map(|(at, _)| at);
    let at = places.find(is_whole)?;
    let (value, _) = tag[at + opening.len()..].split_once('"')?;
    Some(value.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text is docs/a.html of a site that also has index.html and docs/b.html, where the id `b` is.
    fn check(text: &str, expected: &[&str]) {
        let page = |text: &str| Some(read(text));
        let files = BTreeMap::from([
            ("index.html".to_owned(), page("")),
            ("p.svg".to_owned(), None),
            ("docs/a.html".to_owned(), page(text)),
            (
                "docs/b.html".to_owned(),
                page("<h1 class=\"x\" id=\"b\">B</h1>"),
            ),
        ]);
        assert_eq!(findings(&files), expected);
    }

    #[test]
    fn links_to_pages_headings_and_files_of_the_site_are_taken() {
        check(
            "<a id=\"日\" href=\"b.html#b\"><img src=\"../p.svg\"><a href=\"#%E6%97%A5\"><a href=\"../\"><a href=\"/\">",
            &[],
        );
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        check(
            "<a href=\"c.html\"><a href=\"b.html#c\"><a href=\"../../x\">",
            &[
                "docs/a.html: the link c.html leads nowhere",
                "docs/a.html: the link b.html#c leads to no heading",
                "docs/a.html: the link ../../x leads nowhere",
            ],
        );
    }

    #[test]
    fn address_with_a_scheme_is_taken_and_a_path_of_rust_is_reported() {
        check(
            "<a href=\"https://a.example/#x\"><a href=\"http://a.example/\"><a href=\"mailto:a@a.example\"><a href=\"crate::A\">",
            &["docs/a.html: the link crate::A is no address of the web"],
        );
    }

    #[test]
    fn scripts_comments_and_other_attributes_are_not_read() {
        check(
            "<script>'<a href=\"c\">'</script><!-- <a href=\"d\"> --><a data-href=\"e\">",
            &[],
        );
    }
}
