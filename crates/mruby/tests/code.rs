//! The instructions of methods as data: literals, names, calls, blocks, limits. What they mean for a route is tested where routes are described.

use tsumugi_mruby::limits::{CODE_DEPTH_MAX, CODE_INSTRUCTIONS_MAX};
use tsumugi_mruby::{MethodCode, Options, Step, Vm};

/// The code of `C#m`, in a program that defines it.
fn code(program: &str) -> Option<MethodCode> {
    let vm = Vm::open(Options::default()).unwrap();
    vm.enter(|scope| {
        let program = scope.compile(program.as_bytes(), "test.rb", 1).unwrap();
        let ran = scope.run(program);
        ran.unwrap_or_else(|raised| panic!("{}", scope.report(raised)));
        let class = scope
            .constant("C")
            .unwrap_or_else(|_| panic!("there is no C"));
        scope.method_code(class, "m")
    })
}

fn method(body: &str) -> MethodCode {
    code(&format!("class C\n  def m\n    {body}\n  end\nend")).unwrap()
}

#[test]
fn literals_and_names_are_read_with_their_registers() {
    let code = method("f(:a, 'b', -1, 7, 300, 70000, 1.5, nil, true, x: 1..9)");
    let steps: Vec<&Step> = code.instructions.iter().map(|each| &each.step).collect();
    let literals = [
        Step::Symbol("a".into()),
        Step::Text("b".into()),
        Step::Integer(-1),
        Step::Integer(7),
        Step::Integer(300),
        Step::Integer(70_000),
        Step::Float(1.5),
        Step::Nil,
        Step::True,
        Step::Symbol("x".into()),
        Step::Range {
            is_exclusive: false,
        },
        Step::Call {
            name: "f".into(),
            is_own: true,
            arguments: 9,
            keywords: 1,
            has_block: false,
        },
    ];
    for literal in &literals {
        assert!(steps.contains(&literal), "no {literal:?} in {steps:#?}");
    }
    assert!(code.is_whole && !code.is_own);
}

#[test]
fn block_is_read_inside_of_its_method() {
    let code = method("y = 1\n    f { |x| g(y) }");
    let [block] = code.blocks.as_slice() else {
        panic!("{code:#?}");
    };
    let is_upvalue = |step: &Step| matches!(step, Step::Upvalue { level: 0, .. });
    assert!(block.instructions.iter().any(|each| is_upvalue(&each.step)));
    assert!(
        code.instructions
            .iter()
            .any(|each| each.step == Step::Block(0))
    );
}

#[test]
fn jumps_name_where_instructions_stand() {
    let code = method("a = 1\n    if f then g else h end\n    while i do j end");
    let places: Vec<i64> = code
        .instructions
        .iter()
        .map(|each| each.at.into())
        .collect();
    let mut jumps = 0;
    for each in &code.instructions {
        if let Step::Jump(target) | Step::Branch(target) = each.step {
            assert!(places.contains(&target), "{target}: {code:#?}");
            jumps += 1;
        }
    }
    assert!(jumps >= 4, "{code:#?}");
}

#[test]
fn early_end_of_a_method_and_of_a_block_is_read() {
    let ends = |code: &MethodCode, end: &Step| {
        let instructions = code.instructions.iter();
        instructions.filter(|each| each.step == *end).count()
    };
    let method_ends = |body: &str| {
        let code = method(body);
        let of_blocks = code
            .blocks
            .iter()
            .map(|block| (ends(block, &Step::Return), ends(block, &Step::ReturnOut)));
        (ends(&code, &Step::Return), of_blocks.collect::<Vec<_>>())
    };
    assert_eq!(method_ends("f"), (1, vec![]));
    assert_eq!(method_ends("return 1 if f\n    g"), (2, vec![]));
    assert_eq!(method_ends("f { next 1 if g; h }"), (1, vec![(2, 0)]));
    assert_eq!(method_ends("f { break 1 if g; h }"), (1, vec![(2, 0)]));
    assert_eq!(method_ends("f { return 1 if g; h }"), (1, vec![(1, 1)]));
}

#[test]
fn method_that_is_not_written_in_ruby_has_no_code() {
    assert_eq!(code("class C\nend"), None);
    assert_eq!(code("class C\n  alias m inspect\nend"), None);
    assert!(code("class C\n  define_method(:m) { 1 }\nend").is_some());
}

#[test]
fn method_beyond_a_limit_is_read_up_to_it() {
    let long = method(&"f\n".repeat(CODE_INSTRUCTIONS_MAX + 1));
    assert_eq!(long.instructions.len(), CODE_INSTRUCTIONS_MAX);
    assert!(!long.is_whole);
    let depth = |code: &MethodCode| {
        let (mut code, mut depth) = (code, 1);
        while let Some(inner) = code.blocks.first().filter(|inner| inner.registers > 0) {
            (code, depth) = (inner, depth + 1);
        }
        depth
    };
    let nested =
        |blocks: usize| method(&format!("{}{}", "f { ".repeat(blocks), "}".repeat(blocks)));
    let most = nested(CODE_DEPTH_MAX - 1);
    assert_eq!((depth(&most), most.is_whole), (CODE_DEPTH_MAX, true));
    let more = nested(CODE_DEPTH_MAX);
    assert_eq!((depth(&more), more.is_whole), (CODE_DEPTH_MAX, false));
}
