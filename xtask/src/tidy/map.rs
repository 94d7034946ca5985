//! ARCHITECTURE.md as a map: no crate is missing from it. What it says about a crate is not checked.
//! Rule: each directory under crates/, and fuzz/, is named on a line of it, as `crates/NAME`, `tsumugi-NAME` or `NAME` in backticks.

use super::Finding;
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

pub fn findings(tree: &Tree) -> Vec<Finding> {
    // Without a map there is nothing to be missing from; the README's link to it fails instead.
    let Some(map) = tree.file(MAP) else {
        return Vec::new();
    };
    let missing = tree.crates().filter(|folder| {
        let name = folder.trim_start_matches("crates/");
        !names(&map.text, name)
    });
    missing
        .map(|folder| Finding::new(MAP, 1, format!("{folder} is not on the map")))
        .collect()
}

fn names(text: &str, name: &str) -> bool {
    text.contains(&format!("`{name}`"))
        || [format!("crates/{name}"), format!("tsumugi-{name}")]
            .iter()
            .any(|full| {
                text.match_indices(full).any(|(at, _)| {
                    let after = text[at + full.len()..].chars().next();
                    !after.is_some_and(|character| {
                        character.is_alphanumeric() || matches!(character, '_' | '-')
                    })
                })
            })
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
