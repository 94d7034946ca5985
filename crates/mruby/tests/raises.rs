//! What `shim/cannot_raise.txt` says of functions of mruby is true of the library that was built: none of them reaches `longjmp`.
//! Calls are read from the machine code, in any order and on any branch; what is called through a pointer is not seen (the
//! allocator of the VM, and destructors of data objects, both the shim's).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

const LIST: &str = include_str!("../shim/cannot_raise.txt");
/// What begins so sets a place to jump to, which hides everything below it.
const CATCHES: &str = "catches";
/// How an exception leaves a function.
const JUMPS: [&str; 4] = ["longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"];

/// A function of the library: the object it is in, and its name.
type Function = (String, String);

/// Which functions each function names: those it calls, and those whose addresses it takes.
struct Library {
    named: BTreeMap<Function, BTreeSet<String>>,
    global: BTreeMap<String, Vec<Function>>,
}

impl Library {
    fn read(path: &Path) -> Library {
        let output = Command::new("objdump")
            .args(["--disassemble", "--reloc", "--no-show-raw-insn"])
            .arg(path)
            .output()
            .expect("objdump stands beside the linker, in binutils");
        assert!(output.status.success(), "objdump cannot read {path:?}");
        Library::parse(&String::from_utf8_lossy(&output.stdout))
    }

    fn parse(text: &str) -> Library {
        let mut library = Library {
            named: BTreeMap::new(),
            global: BTreeMap::new(),
        };
        let (mut object, mut current) = (String::new(), None::<Function>);
        for line in text.lines() {
            if let Some((name, _)) = line.split_once(":     file format") {
                object = name.to_owned();
            } else if let Some(name) = line.strip_suffix(">:").and_then(|l| l.split_once(" <")) {
                let function = (object.clone(), name.1.to_owned());
                library
                    .global
                    .entry(name.1.to_owned())
                    .or_default()
                    .push(function.clone());
                library.named.entry(function.clone()).or_default();
                current = Some(function);
            } else if let Some(names) = current.as_ref().and_then(|f| library.named.get_mut(f)) {
                names.extend(symbol(line));
            }
        }
        library
    }

    /// The path from `name` to a jump, if there is one.
    fn path_to_jump(&self, name: &str) -> Option<Vec<String>> {
        let start = self.global.get(name)?.first()?;
        let mut seen = BTreeSet::from([start.clone()]);
        let mut open = vec![(start.clone(), vec![name.to_owned()])];
        while let Some((function, path)) = open.pop() {
            for name in &self.named[&function] {
                let mut path = path.clone();
                path.push(name.clone());
                if JUMPS.contains(&name.as_str()) {
                    return Some(path);
                }
                let here = (function.0.clone(), name.clone());
                let found = if self.named.contains_key(&here) {
                    Some(&here)
                } else {
                    self.global.get(name).and_then(|all| all.first())
                };
                if let Some(next) = found
                    && seen.insert(next.clone())
                {
                    open.push((next.clone(), path));
                }
            }
        }
        None
    }
}

/// The symbol that a line names: in a relocation, or as the target of a jump.
fn symbol(line: &str) -> Option<String> {
    let name = match line.split_once("R_") {
        Some((_, relocation)) => relocation.split_whitespace().nth(1)?,
        None => line.rsplit_once('<')?.1.strip_suffix('>')?,
    };
    let end = name.find(['+', '-', '@']).unwrap_or(name.len());
    Some(name[..end].to_owned()).filter(|name| !name.is_empty())
}

/// The library that is linked to this test.
fn library() -> &'static Library {
    static LIBRARY: LazyLock<Library> =
        LazyLock::new(|| Library::read(&Path::new(env!("OUT_DIR")).join("libmruby.a")));
    &LIBRARY
}

#[test]
fn no_function_that_is_said_not_to_raise_reaches_a_jump() {
    let library = library();
    let mut compared = 0;
    for line in LIST.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, reason)) = line.split_once(' ') else {
            continue;
        };
        if library.global.contains_key(name) && !reason.starts_with(CATCHES) {
            compared += 1;
            assert_eq!(library.path_to_jump(name), None, "{name} may raise");
        }
    }
    assert!(compared >= 10, "{compared} functions were compared");
    // The comparison sees what does raise.
    for name in ["mrb_ary_push", "mrb_hash_set", "mrb_obj_is_kind_of"] {
        assert!(library.path_to_jump(name).is_some(), "{name} raises");
    }
}

#[test]
fn leaving_a_protected_call_reaches_no_jump() {
    // Its body is called through a pointer, so that what is named is what runs before and after it.
    assert_eq!(library().path_to_jump("mrb_protect_error"), None);
}

#[test]
fn a_path_is_found_through_functions_of_the_same_object_first() {
    let library = Library::parse(
        "a.o:     file format elf64\n\n0000 <outer>:\n   0:\tcall   5 <outer+0x5>\n\t\t\t1: R_X86_64_PLT32\tinner-0x4\n\n0010 <inner>:\n  10:\tjmp    20 <deep>\n\n0020 <deep>:\n  20:\tret\n\
         b.o:     file format elf64\n\n0000 <deep>:\n   0:\tbl     0 <deep>\n\t\t\t0: R_AARCH64_CALL26\t_longjmp\n\n0010 <raising>:\n  10:\tjmp    0 <deep>\n",
    );
    assert_eq!(library.path_to_jump("outer"), None);
    let path = library.path_to_jump("raising").unwrap();
    assert_eq!(path, ["raising", "deep", "_longjmp"]);
}
