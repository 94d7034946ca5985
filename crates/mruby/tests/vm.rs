//! The VM seen from Rust: values, calls, natives, data, roots, limits. Fibres are in fibres.rs.

use std::cell::Cell;
use std::rc::Rc;

use tsumugi_mruby::{Kind, NativeReply, Options, RecordField, Scope, Suspension, Value, Vm};

fn vm() -> Vm {
    Vm::open(Options::default()).unwrap()
}

/// The value of a program, inspected; an exception as `Class: message`.
fn evaluate(scope: &Scope<'_>, source: &str) -> String {
    let program = scope
        .compile(source.as_bytes(), "test.rb", 1)
        .unwrap_or_else(|e| panic!("{e:?}"));
    match scope
        .run(program)
        .and_then(|value| scope.call(value, "inspect", &[]))
    {
        Ok(text) => scope.text(text).unwrap(),
        Err(raised) => scope.report(raised).to_string(),
    }
}

fn check(source: &str, expected: &str) {
    assert_eq!(
        vm().enter(|scope| evaluate(scope, source)),
        expected,
        "{source}"
    );
}

#[test]
fn numbers_and_strings_are_exact() {
    check("9223372036854775807", "9223372036854775807");
    check("0.1 + 0.2 == 0.30000000000000004", "true");
    check("'日本語'.size", "3");
    check("2 ** 64", "18446744073709551616");
}

#[test]
fn missing_method_is_reported_in_the_words_of_cruby() {
    let check_message = |receiver: &str, name: &str| {
        let expected = format!("NoMethodError: undefined method 'x' for {name}");
        check(&format!("({receiver}).x"), &expected);
    };
    check_message("nil", "nil");
    check_message("false", "false");
    check_message("1", "an instance of Integer");
    check_message("Object.new", "an instance of Object");
    check_message("String", "class String");
    check_message("Kernel", "module Kernel");
    check_message("BasicObject.new", "an instance of BasicObject");
}

#[test]
fn gems_that_block_are_absent() {
    check(
        "[Object.const_defined?(:IO), Object.const_defined?(:Socket), Object.const_defined?(:Dir)]",
        "[false, false, false]",
    );
    check("begin; exit; rescue NoMethodError; :absent; end", ":absent");
}

#[test]
fn values_cross_both_ways() {
    vm().enter(|scope| {
        let hash = scope.hash(2).unwrap();
        scope
            .hash_set(
                hash,
                Value::symbol(scope.intern("a")),
                scope.integer(i64::MIN),
            )
            .unwrap();
        scope
            .hash_set(hash, scope.string("b").unwrap(), scope.float(1.5))
            .unwrap();
        let text = scope.call(hash, "inspect", &[]).unwrap();
        assert_eq!(
            scope.text(text).unwrap(),
            r#"{:a=>-9223372036854775808, "b"=>1.5}"#
        );
        let entries = scope.entries(hash).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].1.as_integer(), Some(i64::MIN));
        assert_eq!(entries[1].1.as_float(), Some(1.5));
        assert_eq!(
            scope.keyword(hash, "a").unwrap().as_integer(),
            Some(i64::MIN)
        );
        assert!(scope.keyword(hash, "absent").unwrap().is_nil());
    });
}

#[test]
fn fields_become_hashes_and_arrays() {
    vm().enter(|scope| {
        let inspect = |value| scope.text(scope.call(value, "inspect", &[]).unwrap());
        let names = [scope.intern("n"), scope.intern("text")];
        let texts: Vec<String> = (0..200)
            .map(|n| format!("the text of {n}, not short"))
            .collect();
        let fields: Vec<RecordField<'_>> = (0..)
            .zip(&texts)
            .flat_map(|(n, text)| {
                [
                    scope.integer(n).into(),
                    RecordField::string(text.as_bytes()),
                ]
            })
            .collect();
        let record = scope.record(&names, &fields[2..4]).unwrap();
        assert_eq!(
            inspect(record).as_deref(),
            Some(r#"{:n=>1, :text=>"the text of 1, not short"}"#)
        );
        let (hashes, arrays) = (scope.array(0).unwrap(), scope.array(0).unwrap());
        scope.push_records(hashes, &names, 200, &fields).unwrap();
        scope.push_arrays(arrays, 2, 200, &fields).unwrap();
        scope.collect();
        let texts = |all| (0..200).map(move |at| scope.array_at(all, at));
        for (n, (hash, array)) in texts(hashes).zip(texts(arrays)).enumerate() {
            let text = format!("the text of {n}, not short");
            let named = scope.hash_fetch(hash, Value::symbol(names[1])).unwrap();
            assert_eq!(scope.text(named).as_ref(), Some(&text));
            assert_eq!(scope.array_at(array, 0).as_integer(), i64::try_from(n).ok());
            assert_eq!(scope.text(scope.array_at(array, 1)), Some(text));
        }
        let empty = scope.array(0).unwrap();
        scope.push_arrays(empty, 0, 2, &[]).unwrap();
        scope.push_records(empty, &[], 2, &[]).unwrap();
        assert_eq!(inspect(empty).as_deref(), Some("[[], [], {}, {}]"));
    });
}

#[test]
fn a_native_returns_raises_and_sees_its_arguments() {
    let vm = vm();
    vm.enter(|scope| {
        let object = scope.object_class();
        scope
            .define_method(object, "add", Suspension::Never, |scope, call| {
                let sum: Option<i64> = call
                    .arguments()
                    .iter()
                    .map(|value| value.as_integer())
                    .sum();
                sum.map(|sum| scope.integer(sum).into())
                    .ok_or_else(|| scope.error("ArgumentError", "integers only"))
            })
            .unwrap();
        assert_eq!(evaluate(scope, "add"), "0");
        assert_eq!(evaluate(scope, "add(1,2,3,4,5,6,7,8,9)"), "45");
        assert_eq!(
            evaluate(scope, "add(1, :b)"),
            "ArgumentError: integers only"
        );
        assert_eq!(
            evaluate(scope, "begin; add(nil); rescue => e; e.message.size; end"),
            "13"
        );
    });
}

#[test]
fn an_exception_is_described_with_file_and_line() {
    vm().enter(|scope| {
        let program = scope
            .compile(b"def f\n raise ArgumentError, 'no'\nend\nf", "app.rb", 1)
            .unwrap();
        let report = scope.report(scope.run(program).err().unwrap());
        assert_eq!(report.to_string(), "ArgumentError: no");
        assert_eq!(report.backtrace[0], "app.rb:2:in f");
        assert_eq!(report.backtrace[1], "app.rb:4");
    });
}

#[test]
fn syntax_errors_name_file_and_line() {
    vm().enter(|scope| {
        let errors = scope
            .compile(b"x = 1\nif x\n  )\nend", "app.rb", 1)
            .err()
            .unwrap();
        assert_eq!((errors[0].file.as_str(), errors[0].line), ("app.rb", 3));
        assert!(
            errors[0].to_string().starts_with("app.rb:3: syntax error"),
            "{}",
            errors[0]
        );
    });
}

#[test]
fn rust_data_is_dropped_by_the_collector() {
    struct DropNote(Rc<Cell<u32>>);
    impl Drop for DropNote {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let drops = Rc::new(Cell::new(0));
    let vm = vm();
    vm.enter(|scope| {
        let class = scope
            .define_class(Value::nil(), "DropNote", scope.object_class())
            .unwrap();
        scope.carries_data(class);
        let kept = scope.wrap(class, DropNote(drops.clone())).unwrap();
        assert!(scope.data::<DropNote>(kept).is_some());
        assert!(scope.data::<String>(kept).is_none());
        assert!(scope.data::<DropNote>(Value::nil()).is_none());
        scope.nested(|scope| {
            for _ in 0..10 {
                scope.wrap(class, DropNote(drops.clone())).unwrap();
            }
        });
        scope.collect();
        assert_eq!(drops.get(), 10, "{:?} lives", kept.kind());
    });
    drop(vm);
    assert_eq!(drops.get(), 11);
}

#[test]
fn a_root_outlives_its_scope_and_frees_its_slot() {
    let vm = vm();
    let root = vm.enter(|scope| scope.root(scope.string("kept").unwrap()).unwrap());
    vm.enter(|scope| scope.collect());
    vm.enter(|scope| assert_eq!(scope.text(scope.rooted(&root)).unwrap(), "kept"));
    drop(root);
    for i in 0..1000 {
        let root = vm.enter(|scope| scope.root(scope.integer(i)).unwrap());
        vm.enter(|scope| assert_eq!(scope.rooted(&root).as_integer(), Some(i)));
    }
    let root = vm.enter(|scope| scope.root(Value::nil()).unwrap());
    drop(vm);
    drop(root); // after its VM: nothing to free
}

#[test]
#[should_panic(expected = "while Rust read a string's bytes")]
fn entering_the_vm_with_borrowed_bytes_is_a_bug() {
    vm().enter(|scope| {
        let text = scope.string("x").unwrap();
        scope.with_bytes(text, |_| scope.string("y").is_ok());
    });
}

#[test]
fn native_that_panics_raises_and_the_vm_goes_on() {
    let vm = vm();
    vm.enter(|scope| {
        let module = scope.define_module(Value::nil(), "Broken").unwrap();
        for (name, suspension) in [("plain", Suspension::Never), ("waiting", Suspension::Maybe)] {
            scope
                .define_singleton(module, name, suspension, |scope, call| {
                    let text = scope.string("x")?;
                    let lent = scope.with_bytes(text, |bytes| bytes.len()).unwrap();
                    scope.nested(|_| panic!("{} of {lent}", call.arguments().len()));
                    Ok(NativeReply::Value(Value::nil()))
                })
                .unwrap();
        }
        for _ in 0..3 {
            let source = "begin; Broken.plain(1, 2); rescue => e; [e.class, e.message]; end";
            let raised = r#"[RuntimeError, "internal error: 2 of 1"]"#;
            assert_eq!(evaluate(scope, source), raised);
            let inside = "[3].map { |i| Broken.waiting(i) rescue i }";
            assert_eq!(evaluate(scope, inside), "[3]");
        }
        scope.collect();
    });
    vm.enter(|scope| assert_eq!(evaluate(scope, "'as ' + 'before'"), "\"as before\""));
}

#[test]
fn an_endless_allocation_is_a_no_memory_error_and_the_vm_goes_on() {
    let vm = Vm::open(Options {
        memory_bytes_max: 16 << 20,
        memory_reserve_bytes: 1 << 20,
        ..Options::default()
    })
    .unwrap();
    for round in 0..5 {
        vm.enter(|scope| {
            let source = "a = []; begin; loop { a << 'x' * 10_000 }; rescue NoMemoryError => e; b = 'c' * 1000; a = nil; [e.class, b.size]; end";
            assert_eq!(evaluate(scope, source), "[NoMemoryError, 1000]", "round {round}");
        });
        vm.enter(|scope| assert_eq!(evaluate(scope, "'x' * 100_000 == 'y'"), "false"));
        assert!(vm.memory_used() <= 17 << 20, "{}", vm.memory_used());
    }
}

#[test]
fn operation_beyond_the_hook_has_size_limits() {
    let too_large = "RangeError: the result exceeds integer_bits_max (65536)";
    check("3 ** 10_000_000_000", too_large);
    check("x = 3; 40.times { x = x * x }; 1", too_large);
    check("1 << 65_536", too_large);
    check("(1 << 65_535) > 0", "true");
    check("n = -1_000_000_000; 1 >> n", too_large);
    check("(0 << 1_000_000) + (1 ** 1_000_000) + (2 ** 10)", "1025");
    check(
        "('9' * 4_097).to_i",
        "RangeError: an integer of 4097 digits exceeds integer_digits_max (4096)",
    );
    check("('9' * 10).to_i + '7f'.to_i(16)", "10000000126");
    for source in [
        "'x' * 100_000_000",
        "Array.new(5_000_000)",
        "[1] * 5_000_000",
        "sprintf('%1000000000d', 1)",
    ] {
        let result = vm().enter(|scope| evaluate(scope, source));
        assert!(result.starts_with("ArgumentError: "), "{source}: {result}");
    }
}

#[test]
fn a_search_takes_time_proportional_to_the_text() {
    // With a search of quadratic worst case this runs for minutes.
    check(
        "('a' * 2_000_000 + 'b').index('a' * 1_000_000 + 'c').inspect",
        "\"nil\"",
    );
    check(
        "['xaab'.index('ab'), '日本語日本'.index('本語'), 'ab'.index('abc'), 'aXbX'.split('X').size, 'x'.include?('')]",
        "[2, 1, nil, 2, true]",
    );
}

#[test]
fn deep_recursion_is_a_system_stack_error() {
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(|| {
        check("def f(n) = f(n + 1)\nbegin; f 0; rescue SystemStackError; :deep; end", ":deep");
        check("class A; def to_s = \"#{self}\"; end\nbegin; A.new.to_s; rescue SystemStackError; :deep; end", ":deep");
        check("def f(n) = n == 0 ? 0 : 1 + f(n - 1)\nf 500", "500");
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn a_reply_converts_from_a_value() {
    assert!(
        matches!(NativeReply::from(Value::nil()), NativeReply::Value(value) if value.kind() == Kind::Nil)
    );
}
