//! What compiles and what does not, and what the compiler then says: the wrong argument is named, and nothing need be Send.
//! Each program is compiled against the library that this test was built with, by the compiler that is in use here.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The builds of the library beside this test, newest first: another build may be of another compiler.
fn libraries() -> Vec<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let files = std::fs::read_dir(test.parent().unwrap()).unwrap().flatten();
    let mut found: Vec<_> = files
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let ours = name.starts_with("libtsumugi-") && name.ends_with(".rlib");
            let changed = file.metadata().ok()?.modified().ok()?;
            ours.then(|| (changed, file.path()))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// Type-checks a program; what the compiler said, and whether it compiles.
fn compile(library: &Path, program: &Path, out: &Path) -> (String, bool) {
    let cargo = PathBuf::from(env!("CARGO"));
    let beside = cargo.with_file_name("rustc");
    let rustc = if beside.is_file() {
        beside
    } else {
        "rustc".into()
    };
    let output = Command::new(rustc)
        .args(["--edition", "2024", "--emit", "metadata", "--out-dir"])
        .arg(out)
        .arg("-L")
        .arg(library.parent().unwrap())
        .arg("--extern")
        .arg(format!("tsumugi={}", library.display()))
        .arg(program)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (said, output.status.success())
}

/// Nothing is expected of a program that compiles.
fn check(name: &str, expected: &[&str]) {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile");
    let out = tempfile::tempdir().unwrap();
    let mut said = String::from("no build of the library is there");
    for library in libraries() {
        let (now, compiles) = compile(&library, &programs.join(name), out.path());
        said = now;
        // E0514: of another compiler; E0460, E0463: of other dependencies than are there now.
        if ["E0514", "E0460", "E0463"]
            .iter()
            .any(|code| said.contains(code))
        {
            continue;
        }
        assert_eq!(compiles, expected.is_empty(), "{name}: {said}");
        for text in expected {
            assert!(said.contains(text), "{name}: {text:?} is not in\n{said}");
        }
        return;
    }
    panic!("{name}: {said}");
}

#[test]
fn handler_with_non_send_state_compiles() {
    check("not_send.rs", &[]);
}

#[test]
fn wrong_argument_is_named() {
    let expected = [
        "error[E0277]: `Visitor` cannot be an argument of a handler",
        "extractors are `State<App>`, `Path<T>`",
    ];
    check("wrong_argument.rs", &expected);
}

#[test]
fn state_of_another_plugin_is_named() {
    check(
        "wrong_state.rs",
        &["expected `Methods<()>`, found `Methods<Other>`"],
    );
}

#[test]
fn wrong_result_is_named() {
    check(
        "wrong_result.rs",
        &["`Page` cannot be returned by a handler"],
    );
}

#[test]
fn function_that_is_not_async_is_no_handler() {
    check(
        "not_async.rs",
        &["is no handler", "expected an async function"],
    );
}
