//! Values that Rust holds while Ruby changes what they came from, and what happens at the end of the VM's memory while it
//! does. A collected object is noticed by what has taken its place, or by valgrind.

use std::cell::RefCell;
use std::rc::Rc;

use tsumugi_mruby::{NativeReply, Options, Raise, Scope, Suspension, Value, Vm};

/// Collects, and fills the places of what was collected with Strings of the same size.
const CHURN: &str = r#"
def churn
  GC.start
  $fresh = Array.new(3_000) { |i| "fresh #{i}" }
  nil
end
"#;

fn run<'s>(scope: &'s Scope<'_>, source: &str) -> tsumugi_mruby::Result<'s, Value<'s>> {
    let program = scope.compile(source.as_bytes(), "app.rb", 1);
    scope.run(program.unwrap_or_else(|errors| panic!("{errors:?}")))
}

fn open(source: &str) -> Vm {
    let vm = Vm::open(Options::default()).unwrap();
    vm.enter(|scope| {
        for source in [CHURN, source] {
            run(scope, source).unwrap_or_else(|raised| panic!("{}", scope.report(raised)));
        }
    });
    vm
}

fn text(scope: &Scope<'_>, value: Value<'_>) -> String {
    scope
        .text(value)
        .unwrap_or_else(|| format!("{:?}", value.kind()))
}

#[test]
fn entries_of_a_hash_that_is_emptied_stay_what_they_were() {
    let vm = open("$hash = (0...40).to_h { |i| [\"key #{i}\", \"value #{i}\"] }");
    vm.enter(|scope| {
        let entries = scope.entries(scope.global(scope.intern("$hash"))).unwrap();
        run(scope, "$hash.clear; churn").unwrap();
        for (i, (key, value)) in entries.into_iter().enumerate() {
            assert_eq!(text(scope, key), format!("key {i}"));
            assert_eq!(text(scope, value), format!("value {i}"));
        }
    });
}

#[test]
fn an_element_of_an_array_that_is_emptied_stays_what_it_was() {
    let vm = open("$array = Array.new(40) { |i| \"element #{i}\" }");
    vm.enter(|scope| {
        let array = scope.global(scope.intern("$array"));
        let elements: Vec<_> = (0..40).map(|i| scope.array_at(array, i)).collect();
        run(scope, "$array.clear; churn").unwrap();
        for (i, element) in elements.into_iter().enumerate() {
            assert_eq!(text(scope, element), format!("element {i}"));
        }
    });
}

#[test]
fn a_value_that_an_outer_scope_takes_outlives_the_inner_one() {
    let vm = open("$array = [\"outer\"]");
    vm.enter(|outer| {
        let array = outer.global(outer.intern("$array"));
        let mut taken = Value::nil();
        outer.nested(|inner| {
            inner.string("inner").unwrap();
            taken = outer.array_at(array, 0);
            inner.nested(|_| outer.array_at(array, 0));
        });
        run(outer, "$array.clear; churn").unwrap();
        assert_eq!(text(outer, taken), "outer");
    });
}

#[test]
fn arguments_of_a_native_stay_when_their_array_is_emptied() {
    let vm = open("");
    vm.enter(|scope| {
        scope
            .define_method(
                scope.object_class(),
                "native",
                Suspension::Never,
                |scope, call| {
                    scope.call(call.block, "call", &[])?;
                    let texts: Vec<_> = call.arguments().iter().map(|v| text(scope, *v)).collect();
                    Ok(scope.string(texts.join(","))?.into())
                },
            )
            .unwrap();
        let answer = run(
            scope,
            "list = Array.new(20) { |i| \"argument #{i}\" }\nnative(*list) { list.clear; churn }",
        );
        let expected: Vec<_> = (0..20).map(|i| format!("argument {i}")).collect();
        assert_eq!(text(scope, answer.unwrap()), expected.join(","));
    });
}

#[test]
fn exception_that_a_fibre_is_resumed_with_outlives_a_collection() {
    let vm = open("");
    vm.enter(|scope| {
        scope
            .define_method(scope.object_class(), "park", Suspension::Maybe, |_, _| {
                Ok(NativeReply::Yield(Value::nil()))
            })
            .unwrap();
        let held: Vec<_> = (0..8)
            .map(|i| {
                let fibre = run(
                    scope,
                    "Fiber.new { begin; park; rescue => e; e = nil; end }",
                )
                .unwrap();
                scope.resume(fibre, Value::nil()).unwrap();
                let held = scope.error("RuntimeError", format!("held {i}"));
                assert!(scope.resume_raising(fibre, held).is_ok());
                held
            })
            .collect();
        run(scope, "churn").unwrap();
        for (i, held) in held.into_iter().enumerate() {
            assert_eq!(scope.report(held).message, format!("held {i}"));
        }
    });
}

/// Counts itself down when it is dropped, as a destructor that frees something would.
struct Counted(Rc<RefCell<usize>>);

impl Counted {
    fn new(alive: &Rc<RefCell<usize>>) -> Self {
        *alive.borrow_mut() += 1;
        Counted(Rc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *self.0.borrow_mut() -= 1;
    }
}

/// With the VM's memory full to the last byte, a native takes many values while something of Rust's is alive.
fn at_the_limit(take: impl for<'s> Fn(&'s Scope<'s>, Value<'s>) -> usize + 'static) {
    let vm = Vm::open(Options {
        memory_bytes_max: 24 << 20,
        memory_reserve_bytes: 0,
        ..Options::default()
    })
    .unwrap();
    let alive = Rc::default();
    vm.enter(|scope| {
        let alive = Rc::clone(&alive);
        scope
            .define_method(
                scope.object_class(),
                "take",
                Suspension::Never,
                move |scope, call| {
                    let _counted = Counted::new(&alive);
                    let taken = take(scope, call.argument(0));
                    Ok(scope.integer(i64::try_from(taken).unwrap()).into())
                },
            )
            .unwrap();
    });
    for _ in 0..3 {
        vm.enter(|scope| {
            let setup = "$list = Array.new(5_000) { |i| \"element number #{i} of many\" }
                $full = []
                [1 << 20, 1 << 14, 1 << 10, 100, 40].each do |size|
                  begin
                    while true
                      $full << 'x' * size
                    end
                  rescue NoMemoryError
                  end
                end";
            let _ = run(scope, setup);
            let main = scope.main();
            let list = scope.global(scope.intern("$list"));
            let answer = scope.call(main, "take", &[list]);
            let taken = answer.ok().and_then(Value::as_integer);
            assert_eq!(taken, Some(5_000));
            scope
                .set_global(scope.intern("$full"), Value::nil())
                .unwrap();
        });
        assert_eq!(*alive.borrow(), 0, "a destructor did not run");
    }
}

#[test]
fn elements_taken_at_the_limit_of_memory_skip_no_destructor() {
    at_the_limit(|scope, list| {
        let values: Vec<_> = (0..scope.array_len(list))
            .map(|i| scope.array_at(list, i))
            .collect();
        values
            .iter()
            .filter(|value| scope.bytes(**value).is_some())
            .count()
    });
}

#[test]
fn root_is_read_at_the_limit_of_memory() {
    at_the_limit(|scope, list| {
        let root = scope.root(list).unwrap();
        let read = (0..scope.array_len(list)).map(|_| scope.rooted(&root));
        read.filter(|value| scope.array_len(*value) == 5_000)
            .count()
    });
}

#[test]
fn calls_at_the_limit_of_memory_answer_and_return() {
    at_the_limit(|scope, list| {
        let mut answers = Vec::new();
        for i in 0..scope.array_len(list) {
            // An answer is protected where the call was made, also when it is an exception.
            answers.push(match scope.call(scope.array_at(list, i), "itself", &[]) {
                Ok(value) | Err(Raise(value)) => value,
            });
        }
        answers.len()
    });
}
