//! Snippets whose output CRuby has written. Not what differs on purpose: that is in the other modules.

use crate::rig::output;

fn check(name: &str, program: &str, expected: &str) {
    let found = output(program);
    if found != expected {
        let kept = std::env::temp_dir().join(format!("tsumugi-snippet-{name}.txt"));
        std::fs::write(&kept, found).expect("the output is written");
        panic!(
            "{name}.rb prints what CRuby does not: compare {} with {name}.txt",
            kept.display()
        );
    }
}

macro_rules! snippets {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let name = stringify!($name);
            let program = include_str!(concat!("snippets/", stringify!($name), ".rb"));
            check(name, program, include_str!(concat!("snippets/", stringify!($name), ".txt")));
        }
    )*};
}

snippets! { core digests encodings integers json regexp sorting strings_with_patterns time translation types }
