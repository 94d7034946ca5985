//! ARCHITECTURE.md as a map: no crate is missing from it. What it says about a crate is not checked.
//! Rule: each directory under crates/, and fuzz/, is named on a line of it, as `crates/NAME`, `tsumugi-NAME` or `NAME` in backticks.

use super::Findings;
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

pub fn findings(tree: &Tree, found: &mut Findings) {
    // Without a map there is nothing to be missing from; the README's link to it fails instead.
    let Some(map) = tree.file(MAP) else {
        return;
    };
    for folder in tree.crates() {
        if !names(map.text, folder.trim_start_matches("crates/")) {
            found.add(MAP, 1, format!("{folder} is not on the map"));
        }
    }
}

fn names(text: &str, name: &str) -> bool {
    let goes_on = |character: char| character.is_alphanumeric() || "_-".contains(character);
    let ends = |rest: &str| !rest.starts_with(goes_on);
    let is_full = |full: &String| text.split(full).skip(1).any(ends);
    let full = [format!("crates/{name}"), format!("tsumugi-{name}")];
    text.contains(&format!("`{name}`")) || full.iter().any(is_full)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(map: &str, expected: &[&str]) {
        let crates = [
            ("crates/pg/src/lib.rs", ""),
            ("crates/pg-proto/src/lib.rs", ""),
            (MAP, map),
        ];
        super::super::assert_findings(findings, &crates, expected);
    }

    #[test]
    fn every_crate_is_named() {
        check("`pg` sockets\n[messages](crates/pg-proto/)\n", &[]);
        check("tsumugi-pg-proto, tsumugi-pg.\n", &[]);
    }

    #[test]
    fn a_longer_name_is_another_crate() {
        check(
            "crates/pg-proto\n",
            &["ARCHITECTURE.md:1: crates/pg is not on the map"],
        );
    }

    #[test]
    fn without_a_map_nothing_is_missing() {
        super::super::assert_findings(findings, &[("crates/pg/src/lib.rs", "")], &[]);
    }
}
