//! The suite `tsumugi bench arena` without its measurements: both applications, in Ruby and in Rust, answer what the profiles of the public
//! suite HttpArena demand. Black box: the suite starts the programs and looks at their answers.

use std::process::Command;

use tsumugi_testkit::postgres::{Server, User};

/// How many checks of the server of this name passed and failed, of how many profiles.
fn tally(printed: &str, name: &str) -> (usize, usize, usize) {
    let line = printed
        .lines()
        .find_map(|line| line.split_once(&format!("# {name}: ")));
    let (_, line) = line.unwrap_or_else(|| panic!("{name} was not looked at:\n{printed}"));
    let numbers = line.split(|letter: char| !letter.is_ascii_digit());
    let numbers: Vec<usize> = numbers.filter_map(|number| number.parse().ok()).collect();
    match numbers[..] {
        [passed, profiles, failed] => (passed, profiles, failed),
        _ => panic!("{line}"),
    }
}

#[test]
fn both_applications_pass_the_checks_of_every_profile() {
    let database = Server::shared();
    let output = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .args(["bench", "--check", "arena"])
        .env("DATABASE_URL", database.url(User::ADMIN))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        !printed.contains("tsumugi, Rust skipped"),
        "run `cargo build -p tsumugi --example arena` first"
    );
    // The application in Ruby has no WebSocket: 14 profiles of 15.
    assert_eq!(tally(&printed, "tsumugi, Ruby"), (RUBY, 14, 0), "{printed}");
    assert_eq!(
        tally(&printed, "tsumugi, Rust"),
        (RUBY + 3, 15, 0),
        "{printed}"
    );
    assert_eq!(output.status.code(), Some(0), "{printed}");
}

/// Checks of the profiles without WebSockets.
const RUBY: usize = 109;
