//! Everything of mruby's that walks over a container, and every walk of the binding's own, while Ruby changes the container at
//! random and the collector runs: no crash, and nothing that was collected is reached. Each walk is made from a seed, which is
//! printed when it fails; `TSUMUGI_WALK_SEED=N` repeats one, `TSUMUGI_WALKS=N` runs so many in each test (300 usually).

mod cases;

use tsumugi_mruby::{NativeCall, NativeReply, Options, Result, Scope, Suspension, Value, Vm};

const WALKS: &str = include_str!("walks.rb");

/// What the collector does on the way: everything at once, only what is young, or a step now and then.
const WHOLE: &str = "GC.generational_mode = false";
const GENERATIONS: &str = "GC.generational_mode = true";
const STEPS: &str = "Churn.in_steps";

/// Walks of the binding, as natives: `Held.…` hands out what Rust took before the block ran.
const NATIVES: &str = r#"
WALKS[:hash].merge!(
  native_entries: ->(c, o, w) { Held.entries(c) { w.spoil } },
  native_nested: ->(c, o, w) { Held.nested(c.values) { w.spoil } },
  native_set: ->(c, o, w) { Held.set(c, w.key, w.value) },
  native_fetch: ->(c, o, w) { Held.fetch(c, w.key) },
)
WALKS[:array].merge!(
  native_elements: ->(c, o, w) { Held.elements(c) { w.spoil } },
  native_nested: ->(c, o, w) { Held.nested(c) { w.spoil } },
  native_arguments: ->(c, o, w) { Held.arguments(*c) { w.spoil } },
  native_send: ->(c, o, w) { Held.send(:arguments, *c) { w.spoil } },
  native_record: ->(c, o, w) { Held.record(c) { w.spoil } },
  native_raises: ->(c, o, w) { c.sort { |a, b| w.spoil; Held.raises } },
)
WALKS[:object].merge!(native_variables: ->(c, o, w) { Held.variables(c) { w.spoil } })
"#;

fn run<'s>(scope: &'s Scope<'_>, source: &str) -> Result<'s, Value<'s>> {
    let program = scope.compile(source.as_bytes(), "walks.rb", 1);
    scope.run(program.unwrap_or_else(|errors| panic!("{errors:?}")))
}

type Native = for<'s> fn(&'s Scope<'s>, &NativeCall<'s>) -> Result<'s, Value<'s>>;

fn define(scope: &Scope<'_>) {
    let holder = scope.define_module(Value::nil(), "Held").unwrap();
    let define = |name: &str, native: Native| {
        scope
            .define_singleton(holder, name, Suspension::Never, move |scope, call| {
                native(scope, call).map(NativeReply::from)
            })
            .unwrap();
    };
    containers(&define);
    values(&define);
}

/// What a container held before the block runs.
fn containers(define: &dyn Fn(&str, Native)) {
    define("entries", |scope, call| {
        let entries = scope.entries(call.argument(0))?;
        let answer = scope.array(0)?;
        for (key, value) in entries {
            scope.call(call.block, "call", &[])?;
            scope.push(answer, scope.array_of(&[key, value])?)?;
        }
        Ok(answer)
    });
    define("elements", |scope, call| {
        let array = call.argument(0);
        let elements: Vec<_> = (0..scope.array_len(array))
            .map(|i| scope.array_at(array, i))
            .collect();
        scope.call(call.block, "call", &[])?;
        scope.array_of(&elements)
    });
    // What the outer scope takes while an inner one is open.
    define("nested", |scope, call| {
        let array = call.argument(0);
        let mut taken = Vec::new();
        for i in 0..scope.array_len(array) {
            let raised = scope.nested(|inner| {
                taken.push(scope.array_at(array, i));
                let called = inner.call(call.block, "call", &[]);
                called.map(drop).map_err(|raised| inner.root_raised(raised))
            });
            raised.map_err(|root| tsumugi_mruby::Raise(scope.rooted(&root)))?;
        }
        scope.array_of(&taken)
    });
}

/// Single values, before the block runs or as mruby asks for them.
fn values(define: &dyn Fn(&str, Native)) {
    define("arguments", |scope, call| {
        scope.call(call.block, "call", &[])?;
        scope.array_of(call.arguments())
    });
    define("record", |scope, call| {
        let array = call.argument(0);
        let (first, second) = (scope.array_at(array, 0), scope.array_at(array, 1));
        scope.call(call.block, "call", &[])?;
        let names = [scope.intern("first"), scope.intern("second")];
        scope.record(&names, &[first.into(), second.into()])
    });
    define("set", |scope, call| {
        let (hash, key, value) = (call.argument(0), call.argument(1), call.argument(2));
        scope.hash_set(hash, key, value)?;
        Ok(hash)
    });
    define("fetch", |scope, call| {
        scope.hash_fetch(call.argument(0), call.argument(1))
    });
    define("variables", |scope, call| {
        let name = scope.intern("@v0");
        let held = scope.ivar(call.argument(0), name);
        scope.call(call.block, "call", &[])?;
        Ok(held)
    });
    define("raises", |scope, _| {
        Err(scope.error("ArgumentError", "v from a native"))
    });
}

fn number(name: &str) -> Option<i64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

/// Runs walks from a seed on.
fn walk(seed: i64, count: i64, mode: &str) {
    let vm = Vm::open(Options::default()).unwrap();
    vm.enter(|scope| {
        define(scope);
        for source in [WALKS, NATIVES, mode] {
            run(scope, source).unwrap_or_else(|raised| panic!("{}", scope.report(raised)));
        }
        for seed in seed..seed + count {
            scope.nested(|scope| one(scope, seed));
        }
    });
}

fn one(scope: &Scope<'_>, seed: i64) {
    let failed = |name: &str, raised| {
        let report = scope.report(raised);
        let backtrace = report.backtrace.join("\n");
        panic!("TSUMUGI_WALK_SEED={seed}, {name}: {report}\n{backtrace}")
    };
    let prepared = scope.call(scope.main(), "prepare", &[scope.integer(seed)]);
    let name = prepared.unwrap_or_else(|raised| failed("not made", raised));
    let name = scope.text(name).unwrap_or_default();
    // A crash has no last word.
    if number("TSUMUGI_WALK_SEED").is_some() || number("TSUMUGI_WALKS").is_some() {
        eprintln!("TSUMUGI_WALK_SEED={seed}, {name}");
    }
    // In a fibre, as a handler is: what walks by another fibre resumes none from within a native call.
    let fibre = scope.call(scope.main(), "walk", &[]);
    let walked = fibre.and_then(|fibre| scope.resume(fibre, Value::nil()));
    walked.unwrap_or_else(|raised| failed(&name, raised));
}

/// Walks in one mode of the collector.
fn check(mode: &str) {
    match number("TSUMUGI_WALK_SEED") {
        Some(seed) => walk(seed, 1, mode),
        None => walk(1, number("TSUMUGI_WALKS").unwrap_or(300), mode),
    }
}

#[test]
fn walk_over_a_container_that_changes_reaches_nothing_stale() {
    check(WHOLE);
}

#[test]
fn walk_over_a_container_that_changes_with_generations_reaches_nothing_stale() {
    check(GENERATIONS);
}

#[test]
fn walk_over_a_container_that_changes_in_a_collection_reaches_nothing_stale() {
    check(STEPS);
}
