//! What `make run` does to databases, as far as make says it before it does anything.

use std::path::Path;
use std::process::Command;

/// What the commands of `make run` find as `DATABASE_URL`, where make has these words and the environment these variables.
fn database_url(words: &[&str], variables: &[(&str, &str)]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("make")
        .current_dir(root)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(variables.iter().copied())
        // What it depends on comes before its commands, with the same variables, and ends it.
        .args(["--silent", "--eval", "run: look"])
        .args(["--eval", "look: ; @echo \"<$$DATABASE_URL>\"; exit 3"])
        .arg("run")
        .args(words)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let url = said
        .trim()
        .strip_prefix('<')
        .and_then(|url| url.strip_suffix('>'));
    url.unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)))
        .to_owned()
}

#[test]
fn demo_uses_no_database_that_was_not_named_for_it() {
    let own = "postgres://ann:pa$word@127.0.0.1/own";
    assert_eq!(database_url(&[], &[("DATABASE_URL", own)]), "");
    assert_eq!(database_url(&["DATABASE_URL=sqlite:x"], &[]), "");
    let named = [("DATABASE_URL", "sqlite:x"), ("DEMO_DATABASE", own)];
    assert_eq!(database_url(&[], &named), own);
    assert_eq!(
        database_url(&["DEMO_DATABASE=sqlite:demo.db"], &[]),
        "sqlite:demo.db"
    );
}

#[test]
fn name_of_the_demo_database_is_not_expanded_where_it_is_mentioned() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("make")
        .current_dir(root)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("DEMO_DATABASE", "postgres://ann:$(error expanded)@h/own")
        .args(["--dry-run", "run"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("in the database of DEMO_DATABASE"), "{said}");
}
