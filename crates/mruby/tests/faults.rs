//! Every allocation of a VM fails once, at every place of programs that use what Ruby has: nothing crashes, nothing leaks, and the
//! same program then runs as before; a VM that is closed has given back every byte (it says so itself, in debug builds).
//! `TSUMUGI_FAULTS=full` takes every allocation, and more kinds of failure, where a usual run takes some;
//! `TSUMUGI_FAULTS=PROGRAM/NUMBER` takes one and says where it is.

use std::cell::Cell;
use std::rc::Rc;

use tsumugi_mruby::faults::{FaultPlan, Faults};
use tsumugi_mruby::{
    Kind, NativeReply, Options, Raise, RecordField, Root, Scope, Suspension, Value, Vm,
};

/// Places of one program that a usual run tries; a full one tries all of them.
const PLACES: u64 = 150;

/// A page of objects, of which one more or less may be in use.
const HEAP_PAGE_BYTES: usize = 64 << 10;

/// A program's name, and its source.
type Program = (&'static str, &'static str);

const PROGRAMS: &[Program] = &[
    (
        "strings",
        "s = 'abc' * 20; t = \"#{s}-#{1.5}-#{:sym}\"; u = t.sub('abc', 'x').upcase + s.reverse; u.split('A').join('-').size + t.inspect.size + (s + t).index('-').to_i + 'ä€'.chars.size + s.unpack('C*').size + [1, 2].pack('nN').size",
    ),
    (
        "arrays",
        "a = (1..40).to_a; b = a.map { |i| [i, i.to_s] }; c = b.select { |i, s| i % 2 == 1 }.sort_by { |i, s| -i }; d = c.flatten.uniq.each_slice(3).to_a; e = a.zip(b).first(3) + [a.sum, a.max]; (d + e).inspect.size + a.combination(2).count + a.each_with_object([]) { |i, o| o << i }.size",
    ),
    (
        "hashes",
        "h = {}; 40.times { |i| h[\"key#{i}\"] = i; h[i] = :x }; h.delete(3); g = h.select { |k, v| v == :x }.map { |k, v| [v, k] }.to_h; h.merge(g) { |k, a, b| a }.group_by { |k, v| v.class }.inspect.size + h.keys.size + h.to_a.hash.class.name.size",
    ),
    (
        "blocks",
        "def twice(a, *r, k: 1, **o, &b) = b.call(a, r, k, o); f = ->(x) { ->(y) { x + y } }; c = 0; g = proc { |a, (b, d), *e| c += a.to_i + b.to_i; e }; 20.times { |i| g.call(i, [i, 1], 5, 6) }; twice(1, 2, 3, k: 4, z: 5) { |*a| a.inspect.size } + f.(1).(2) + c + [[1, 2], [3, 4]].each_with_index.map { |(a, b), i| a * b + i }.sum",
    ),
    (
        "classes",
        "c = Class.new { attr_accessor :a, :b; include Comparable; def initialize(a) = (@a = a; @b = [a]); def <=>(o) = a <=> o.a; define_method(:m) { |x = 3| x + a }; def method_missing(n, *r) = n == :gone ? r.size : super; def respond_to_missing?(n, p = false) = n == :gone }; o = c.new(1); s = Struct.new(:x, :y); def o.single = 7; o.extend(Module.new { def other = 8 }); [o < c.new(2), o.m, o.gone(1, 2), o.single, o.other, s.new(1, 2).to_a, (o.nothing rescue 'no'), c.instance_methods(false).size, o.dup.a].inspect",
    ),
    (
        "exceptions",
        "log = []; deep = ->(n) { begin; n == 0 ? raise(ArgumentError, 'x' * 50) : deep.(n - 1); ensure; log << n; end }; begin; deep.(12); rescue ArgumentError => e; log << e.message.size << e.backtrace.class; begin; raise 'other'; rescue => f; log << f.message; end; end; x = catch(:done) { 10.times { |i| throw :done, i if i == 5 } }; y = begin; Integer('z'); rescue => g; g.class; else; 1; ensure; log << 9; end; z = [1, 2, 3].each { |i| break i * 10 if i == 2 }; t = 0; begin; t += 1; raise 'again' if t < 3; rescue; retry; end; [log, x, y, z, t].inspect",
    ),
    (
        "fibres",
        "f = Fiber.new { |a| b = Fiber.yield(a + 1); c = Fiber.yield([b] * 20); d = [1, 2].map { |i| Fiber.yield(i) }; d.inspect + c.to_s }; r = [f.resume(1), f.resume(2).size, f.resume(3), f.resume(4), f.resume(5)]; e = [1, 2, 3].each; r << e.next << e.next; g = Enumerator.new { |y| 5.times { |i| y << i * i } }; r << g.lazy.map { |i| i + 1 }.select { |i| i % 2 == 1 }.first(2); h = (1..30).map { |i| Fiber.new { Fiber.yield(i.to_s * 3); 'end' } }; h.each(&:resume); r << h.map(&:resume).uniq; begin; Fiber.new { raise 'in it' }.resume; rescue => x; r << x.message; end; r.inspect",
    ),
    (
        "numbers",
        "a = 3 ** 90; b = (a * a - 1) / 7; c = b.to_s; [c.size, a % 1000, (1 << 100).to_s(16), 1.0 / 3, 10.0.divmod(4), Rational(3, 4) + 1, format('%08.3f|%-6s|%x', 3.14159, 'ab', 255), (a <=> b), b.hash.class, 255.to_s(2), '12345678901234567890123'.to_i + 1, -7.divmod(2), 1e100.to_i.to_s.size].inspect",
    ),
    (
        "deep",
        "def down(n, a) = n == 0 ? a.size : down(n - 1, a + [n]); def many(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, *q) = [a, p, q.size]; [down(60, []), many(*(1..40).to_a), (1..60).inject { |a, b| a + b }, [[[[[[1]]]]]].flatten, [1, [2, [3, [4]]]].inspect].inspect",
    ),
    (
        "definitions",
        "n = \"Made#{$made = $made.to_i + 1 > 3 ? 1 : $made.to_i + 1}\"; m = Object.const_defined?(n) ? Object.const_get(n) : Object.const_set(n, Module.new { def self.x = 1; const_set(:Y, [1, 2]) }); k = m.const_get(:Y); $g = [n, k]; m.instance_variable_set(:@z, k); o = Object.new; 12.times { |i| o.instance_variable_set(\"@v#{i}\", i) }; eval('1 + 2') + o.instance_variables.size + k.size + m.x + binding.local_variables.size + Time.at(0).to_i + rand(1)",
    ),
    (
        "natives",
        "r = Host.records; d = (1..5).map { |i| Host.carried(i) }; v = Host.value(d[2]); w = begin; Host.fails('x'); rescue => e; e.message; end; x = Host.yields { |a| a + 1 }; y = Host.rooted([1, 'two']); z = Host.entries({ a: 1, 'b' => [2] }); [r, v, w, x, y, z, Host.many(1, 2, 3, 4, 5, 6, 7, 8)].inspect",
    ),
];

/// Counts what natives made and the collector has not dropped.
struct Carried(i64, Rc<Cell<i64>>);

impl Carried {
    fn new(value: i64, alive: &Rc<Cell<i64>>) -> Carried {
        alive.set(alive.get() + 1);
        Carried(value, Rc::clone(alive))
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.1.set(self.1.get() - 1);
    }
}

fn open(faults: &Faults) -> Vm {
    let _guard = faults.for_this_thread();
    Vm::open(Options::default()).expect("a VM opens")
}

/// Natives that do what the host's natives do.
fn define(scope: &Scope<'_>, alive: &Rc<Cell<i64>>) {
    let define = || -> Result<(), Raise<'_>> {
        let class = scope.define_class(scope.object_class(), "Host", scope.object_class())?;
        let data = scope.define_class(class, "Data", scope.object_class())?;
        scope.carries_data(data);
        let plain = |name, native: fn(&Scope<'_>, Value<'_>) -> String| {
            scope.define_singleton(class, name, Suspension::Never, move |scope, call| {
                Ok(scope.string(native(scope, call.argument(0)))?.into())
            })
        };
        scope.define_singleton(class, "records", Suspension::Never, |scope, _| {
            let names = [scope.intern("n"), scope.intern("text")];
            let array = scope.array(0)?;
            let text = [b'x'; 100];
            for n in 0..8 {
                let fields = [scope.integer(n).into(), RecordField::string(&text)];
                scope.push_records(array, &names, 1, &fields)?;
                let pushed = scope.nested(|scope| {
                    let text = scope.string("made apart");
                    text.and_then(|text| scope.push(array, text))
                        .map_err(|raised| scope.root_raised(raised))
                });
                pushed.map_err(|root| Raise(scope.rooted(&root)))?;
            }
            Ok(scope.call(array, "size", &[])?.into())
        })?;
        let made = Rc::clone(alive);
        scope.define_singleton(class, "carried", Suspension::Never, move |scope, call| {
            let class = scope.constant("Host::Data")?;
            let value = call.argument(0).as_integer().unwrap_or(0);
            Ok(scope.wrap(class, Carried::new(value, &made))?.into())
        })?;
        scope.define_singleton(class, "value", Suspension::Never, |scope, call| {
            let value = scope
                .data::<Carried>(call.argument(0))
                .map_or(-1, |carried| carried.0);
            Ok(scope.integer(value).into())
        })?;
        scope.define_singleton(class, "fails", Suspension::Never, |scope, call| {
            let _owned = scope.bytes(call.argument(0));
            Err(scope.error("ArgumentError", "refused by the host"))
        })?;
        scope.define_singleton(class, "yields", Suspension::Never, |scope, call| {
            let _owned = scope.text(call.this);
            Ok(scope.call(call.block, "call", &[scope.integer(4)])?.into())
        })?;
        scope.define_singleton(class, "rooted", Suspension::Never, |scope, call| {
            let roots: Vec<Root> = (0..9)
                .map(|_| scope.root(call.argument(0)))
                .collect::<Result<_, _>>()?;
            Ok(NativeReply::Value(scope.rooted(&roots[8])))
        })?;
        plain("entries", |scope, hash| {
            let entries = scope.entries(hash).map_or(0, |entries| entries.len());
            let named = scope
                .keyword(hash, "a")
                .map_or(0, |a| a.as_integer().unwrap_or(0));
            format!("{entries} {named}")
        })?;
        scope.define_singleton(class, "many", Suspension::Never, |scope, call| {
            Ok(scope.array_of(call.arguments())?.into())
        })?;
        Ok(())
    };
    define().unwrap_or_else(|raised| panic!("{}", scope.report(raised)));
}

/// What became of a program: its answer as text, or the error's class and message.
type Outcome = Result<String, String>;

fn run(vm: &Vm, source: &str) -> Outcome {
    vm.enter(|scope| {
        let source = format!("Fiber.new {{ ({source}) }}");
        let program = match scope.compile(source.as_bytes(), "program.rb", 1) {
            Ok(program) => program,
            Err(errors) => return Err(errors[0].message.clone()),
        };
        let fibre = scope.run(program);
        let answer = fibre.and_then(|fibre| scope.resume(fibre, Value::nil()));
        match answer.and_then(|value| scope.call(value, "to_s", &[])) {
            Ok(text) => Ok(scope.text(text).unwrap_or_default()),
            Err(raised) => Err(scope.report(raised).to_string()),
        }
    })
}

/// What must be as it was when a program has failed and then run.
struct Level {
    bytes: usize,
    roots: usize,
    carried: i64,
}

fn level(vm: &Vm, alive: &Rc<Cell<i64>>) -> Level {
    vm.enter(|scope| {
        scope.collect();
        scope.collect();
    });
    Level {
        bytes: vm.memory_used(),
        roots: vm.live_roots(),
        carried: alive.get(),
    }
}

/// What the environment asks for.
enum Extent {
    Usual,
    Full,
    One(String, u64),
}

fn extent() -> Extent {
    match std::env::var("TSUMUGI_FAULTS") {
        Err(_) => Extent::Usual,
        Ok(text) => match text.split_once('/') {
            Some((name, number)) => Extent::One(name.to_owned(), number.parse().expect("a number")),
            None => Extent::Full,
        },
    }
}

/// The plans that a program is run with when it makes `seen` allocations.
fn plans(name: &str, seen: u64) -> Vec<FaultPlan> {
    let runs = |step: usize, count| {
        (1..=seen)
            .step_by(step)
            .map(move |first| FaultPlan::Run { first, count })
    };
    let chances = |seeds, one_in| (1..=seeds).map(move |seed| FaultPlan::Random { seed, one_in });
    match extent() {
        Extent::One(only, _) if only != name => Vec::new(),
        Extent::One(_, first) => vec![FaultPlan::Run { first, count: 2 }],
        Extent::Full => runs(1, 2)
            .chain(runs(1, 1))
            .chain(runs(3, 7))
            .chain(runs(7, 100))
            .chain(chances(300, 50))
            .chain(chances(300, 5))
            .collect(),
        Extent::Usual => {
            let step = usize::try_from(seen.div_ceil(PLACES)).unwrap_or(1);
            runs(step, 2)
                .chain(runs(4 * step, 1))
                .chain(runs(4 * step, 40))
                .chain(chances(10, 20))
                .collect()
        }
    }
}

fn is_out_of_memory(outcome: &Outcome) -> bool {
    outcome
        .as_ref()
        .is_err_and(|error| error.starts_with("NoMemoryError"))
}

fn check((name, source): Program) {
    let faults = Faults::default();
    let vm = open(&faults);
    let alive = Rc::new(Cell::new(0));
    vm.enter(|scope| define(scope, &alive));
    let expected = run(&vm, source);
    assert!(expected.is_ok(), "{name}: {expected:?}");
    // What is made once: symbols of names, room in tables.
    faults.plan(FaultPlan::Run {
        first: 1,
        count: u64::MAX,
    });
    let _ = run(&vm, source); // it may fail
    faults.plan(FaultPlan::Never);
    for _ in 0..5 {
        assert_eq!(run(&vm, source), expected, "{name}");
    }
    faults.plan(FaultPlan::Never);
    assert_eq!(run(&vm, source), expected, "{name}");
    let seen = faults.allocations();
    assert!(seen > 10, "{name} allocates {seen} times");
    let first = level(&vm, &alive);
    for plan in plans(name, seen) {
        if std::env::var_os("TSUMUGI_FAULTS").is_some() {
            eprintln!("{name} {plan:?}");
        }
        faults.plan(plan);
        let answer = run(&vm, source);
        let failed = faults.failed();
        faults.plan(FaultPlan::Never);
        let allowed = answer == expected || failed > 0 && is_out_of_memory(&answer);
        assert!(
            allowed,
            "{name} {plan:?}: {answer:?} instead of {expected:?}"
        );
        assert_eq!(run(&vm, source), expected, "{name} after {plan:?}");
        let after = level(&vm, &alive);
        assert!(
            after.bytes <= first.bytes + HEAP_PAGE_BYTES,
            "{name} after {plan:?}: {} bytes, {} at first",
            after.bytes,
            first.bytes
        );
        assert_eq!(
            (after.roots, after.carried),
            (first.roots, first.carried),
            "{name} after {plan:?}"
        );
    }
}

#[test]
fn a_program_that_runs_out_of_memory_anywhere_runs_again() {
    for program in PROGRAMS {
        check(*program);
    }
}

#[test]
fn a_vm_that_runs_out_of_memory_while_it_opens_leaves_nothing() {
    let faults = Faults::default();
    faults.plan(FaultPlan::Never);
    drop(open(&faults));
    let seen = faults.allocations();
    let step = match extent() {
        Extent::Usual => seen.div_ceil(PLACES),
        Extent::Full => 1,
        Extent::One(..) => return,
    };
    let _guard = faults.for_this_thread();
    let mut refused = 0;
    for first in (1..=seen).step_by(usize::try_from(step).unwrap_or(1)) {
        for count in [2, u64::MAX] {
            faults.plan(FaultPlan::Run { first, count });
            // What is dropped says in debug builds whether it has given everything back.
            refused += u64::from(Vm::open(Options::default()).is_err());
        }
    }
    assert!(refused > seen / step, "{refused} of {seen}");
}

/// Methods that native code calls: their frames have to keep variables for a closure when they are left.
const CLOSURES: &str = "module Frames; def self.answers = (text = 'x' * 40; proc { text }); \
    def self.raises = (text = 'x' * 40; @kept = proc { text }; raise 'refused'); \
    def self.nested = [1].map { |n| text = n.to_s; proc { text } }[0]; end; Frames";

#[test]
fn a_frame_that_cannot_be_left_raises_in_the_code_that_called_it() {
    let faults = Faults::default();
    let vm = open(&faults);
    faults.plan(FaultPlan::Never);
    let name = run(&vm, CLOSURES);
    assert_eq!(name.as_deref(), Ok("Frames"));
    for method in ["answers", "raises", "nested"] {
        let mut refused = 0;
        for first in 1..60 {
            vm.enter(|scope| {
                let frames = scope.constant("Frames").expect("it is defined");
                faults.plan(FaultPlan::Run { first, count: 2 });
                let answer = scope.call(frames, method, &[]);
                let failed = faults.failed();
                faults.plan(FaultPlan::Never);
                match answer {
                    Ok(answer) => {
                        assert_ne!(method, "raises", "{first}");
                        assert_eq!(answer.kind(), Kind::Proc, "{method} {first}");
                    }
                    Err(Raise(exception)) => {
                        assert_eq!(exception.kind(), Kind::Exception, "{method} {first}");
                        refused += u64::from(failed > 0);
                    }
                }
            });
        }
        assert!(refused > 0, "{method}");
    }
}
