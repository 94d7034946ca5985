//! `docs/reference/`: pages that say what the sources say: the methods of Ruby, the limits, the figures of `/metrics`. `cargo xtask reference`
//! writes them. The page of commands is not here: only the program itself knows its help, so a test of the documents writes and compares it.
//! Rule: a page is a pure function of the tree; one that differs from the sources is a finding of `tidy`.

mod limits;
mod metrics;
mod ruby;

use crate::tree::Tree;

pub use limits::missing as crates_without_limits;

/// A page by its path, and what writes it.
pub struct Page {
    pub path: &'static str,
    pub text: fn(&Tree) -> String,
}

/// All of them.
pub const PAGES: &[Page] = &[
    Page {
        path: "docs/reference/limits.md",
        text: limits::page,
    },
    Page {
        path: "docs/reference/metrics.md",
        text: metrics::page,
    },
    Page {
        path: "docs/reference/ruby.md",
        text: ruby::page,
    },
];

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A number with its digits in groups of three.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<String> = groups
        .map(|group| String::from_utf8_lossy(group).into_owned())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        let check = |number, expected| assert_eq!(grouped(number), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(16_777_216, "16,777,216");
    }
}
