//! Fibres driven from Rust: waiting inside Ruby's iterators, where waiting cannot work, cancelling, and interrupts.

#![allow(clippy::disallowed_methods)] // these tests play the watchdog's thread

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tsumugi_mruby::{Kind, NativeReply, Options, Root, Suspension, Value, Vm};

/// A fibre in which programs run; each yield of `wait` comes out with its argument.
struct Loop {
    vm: Vm,
    fibre: Root,
    done: Rc<RefCell<Option<String>>>,
}

const PRELUDE: &str = r##"
module Tsumugi
  def self.spawn
    Fiber.new do |program|
      while true
        result = begin
          Tsumugi.run_program(program).inspect
        rescue Exception => e
          "#{e.class}: #{e.message}"
        end
        program = Tsumugi.finish(result)
      end
    end
  end
end
module Kernel
  def wait(value = nil) = Tsumugi.park(value)
end
"##;

impl Loop {
    fn new() -> Loop {
        let vm = Vm::open(Options::default()).unwrap();
        let done = Rc::new(RefCell::new(None));
        let fibre = vm.enter(|scope| {
            let tsumugi = scope.constant("Tsumugi").unwrap();
            scope
                .define_singleton(tsumugi, "park", Suspension::Maybe, |_, call| {
                    Ok(NativeReply::Yield(call.argument(0)))
                })
                .unwrap();
            let finished = done.clone();
            scope
                .define_singleton(tsumugi, "finish", Suspension::Maybe, move |scope, call| {
                    *finished.borrow_mut() = scope.text(call.argument(0));
                    Ok(NativeReply::Yield(Value::nil()))
                })
                .unwrap();
            scope
                .run(
                    scope
                        .compile(PRELUDE.as_bytes(), "tsumugi/test.rb", 1)
                        .unwrap(),
                )
                .unwrap();
            scope
                .root(scope.call(tsumugi, "spawn", &[]).unwrap())
                .unwrap()
        });
        Loop { vm, fibre, done }
    }

    /// Starts a program; every wait is answered with what it asked for. Answers the result and the waits.
    fn run(&self, source: &str) -> (String, Vec<String>) {
        self.start(self.compile(source))
    }

    fn compile(&self, source: &str) -> Root {
        self.vm.enter(|scope| {
            scope
                .root(scope.compile(source.as_bytes(), "app.rb", 1).unwrap())
                .unwrap()
        })
    }

    fn start(&self, program: Root) -> (String, Vec<String>) {
        let mut input = program;
        let mut waits = Vec::new();
        loop {
            let (output, text) = self.vm.enter(|scope| {
                let output = scope.resume(scope.rooted(&self.fibre), scope.rooted(&input));
                let output = output.unwrap_or_else(|raised| panic!("{:?}", scope.report(raised)));
                let text = scope.call(output, "inspect", &[]).unwrap();
                (scope.root(output).unwrap(), scope.text(text).unwrap())
            });
            if let Some(result) = self.done.take() {
                return (result, waits);
            }
            waits.push(text);
            input = output;
        }
    }
}

fn check(source: &str, result: &str, waits: &str) {
    let (actual, waited) = Loop::new().run(source);
    assert_eq!(
        (actual.as_str(), waited.join(" ").as_str()),
        (result, waits),
        "{source}"
    );
}

#[test]
fn a_wait_works_inside_iterators_and_blocks() {
    check("[1, 2].each { |i| wait i }", "[1, 2]", "1 2");
    check("[1, 2].map { |i| wait(i) + 1 }", "[2, 3]", "1 2");
    check("[2, 1].sort { |a, b| wait(a <=> b) }", "[1, 2]", "1");
    check("[1, 2, 3].inject { |a, b| wait(a + b) }", "6", "3 6");
    check("{ a: 1 }.each { |k, v| wait [k, v] }", "{:a=>1}", "[:a, 1]");
    check("'aba'.gsub('b') { |m| wait m }", "\"aba\"", "\"b\"");
    check("3.times.map { |i| wait i }", "[0, 1, 2]", "0 1 2");
    check(
        "(1..2).each { |i| wait i }; 1.upto(2) { |i| wait i }; loop { wait 9; break }",
        "nil",
        "1 2 1 2 9",
    );
    check("p = ->(x) { wait x }; p.call(1) + p.(2)", "3", "1 2");
}

#[test]
fn a_wait_works_inside_methods_of_every_kind() {
    check("Object.new.send(:wait, 1)", "1", "1");
    check(
        "class A; define_method(:m) { |x| wait x }; end; A.new.m(4)",
        "4",
        "4",
    );
    check(
        "class A; def method_missing(n, *a) = wait(a[0]); end; A.new.nope(5)",
        "5",
        "5",
    );
    check(
        "class A; def initialize(x); @x = wait x; end; attr_reader :x; end; A.new(6).x",
        "6",
        "6",
    );
    check("class A; def +(o) = wait(o); end; A.new + 7", "7", "7");
    check("class A; def [](o) = wait(o); end; A.new[7]", "7", "7");
    check("'x'.instance_eval { wait size }", "1", "1");
    check("eval('wait 3')", "3", "3");
}

#[test]
fn return_in_a_block_leaves_the_method_made_by_define_method() {
    let make = "class A; define_method(:m) { |x| [1, 2].each { |i| [3].each { return [i, x] } }; :end }; end; A.new.m(7)";
    check(make, "[1, 7]", "");
    let waits = "class A; define_method(:m) { [1, 2].each { |i| begin; return wait(i); ensure; wait 9; end } }; end; A.new.m";
    check(waits, "1", "1 9");
    check(
        "def make = ->(x) { [x].each { |i| return i * 2 }; 0 }\nmake.call(4)",
        "8",
        "",
    );
    let orphan = "def make = proc { [1].each { return 5 } }\nbegin; make.call; rescue LocalJumpError; :orphan; end";
    check(orphan, ":orphan", "");
}

#[test]
fn a_wait_works_in_rescue_ensure_and_retry() {
    check(
        "begin; raise 'x'; rescue; wait 1; ensure; wait 2; end",
        "1",
        "1 2",
    );
    check(
        "n = 0; begin; n += 1; wait n; raise 'x' if n < 3; n; rescue; retry; end",
        "3",
        "1 2 3",
    );
}

#[test]
fn a_wait_where_it_cannot_work_says_why_and_the_fibre_lives() {
    let fibre = Loop::new();
    for source in [
        "Hash.new { |h, k| wait k }[1]",
        "class A; def to_s = wait('x').to_s; end; \"#{A.new}\"",
        "Class.new { wait 1 }",
        "Fiber.new { wait 1 }.resume",
        "e = [1].each; class E; include Enumerable; def each; wait 1; yield 1; end; end; E.new.to_enum.next",
    ] {
        let (result, waits) = fibre.run(source);
        assert!(
            result.starts_with("FiberError: cannot wait here: "),
            "{source}: {result}"
        );
        assert!(waits.is_empty());
    }
    assert_eq!(fibre.run("wait 1"), ("1".into(), vec!["1".into()]));
}

#[test]
fn fibres_of_the_applications_own_work_as_plain_ruby() {
    check(
        "p1 = Proc.new { %w(hoge fuga foo).each { |s| $o << s; Fiber.yield } }
         $o = []; f = Fiber.new { p1.call }; p2 = Proc.new { f.resume; f.alive? }
         4.times { $o << p2.call }; $o",
        r#"["hoge", true, "fuga", true, "foo", true, false]"#,
        "",
    );
    check(
        "f = Fiber.new { |x| Fiber.yield x + 1 }; a = f.resume(1); wait a; f.resume; f.alive?",
        "false",
        "2",
    );
}

/// What a program makes of a KeyError that its only wait raises.
fn check_raised(source: &str, result: &str) {
    let fibre = Loop::new();
    fibre.vm.enter(|scope| {
        let program = scope.compile(source.as_bytes(), "app.rb", 1).unwrap();
        scope.resume(scope.rooted(&fibre.fibre), program).unwrap();
        let error = scope.error("KeyError", "gone");
        let resumed = scope.resume_raising(scope.rooted(&fibre.fibre), error);
        assert_eq!(resumed.unwrap().kind(), Kind::Nil);
    });
    assert_eq!(fibre.done.take().as_deref(), Some(result), "{source}");
    assert_eq!(fibre.run("wait 1").0, "1", "the fibre goes on: {source}");
}

#[test]
fn a_wait_raises_what_its_fibre_is_resumed_with() {
    check_raised("wait 1", "KeyError: gone");
    check_raised(
        "begin; wait 1; rescue KeyError => e; e.message; end",
        "\"gone\"",
    );
    check_raised("begin; wait 1; nil; rescue KeyError; :there; end", ":there");
    check_raised("wait(1) rescue :there", ":there");
    check_raised(
        "[1].map { |i| begin; wait i; rescue KeyError; :there; end }",
        "[:there]",
    );
    check_raised(
        "def f; yield; rescue KeyError; :there; end; f { wait 1 }",
        ":there",
    );
    check_raised("Tsumugi.park(1) rescue :there", ":there");
}

#[test]
fn exception_of_a_wait_is_rescued_by_no_other_clause() {
    check_raised(
        "begin; wait 1; rescue ArgumentError, TypeError; end; 2",
        "KeyError: gone",
    );
    check_raised("begin; nil; rescue KeyError; end; wait 1", "KeyError: gone");
    check_raised(
        "begin; raise 'a'; rescue; begin; wait 1; rescue KeyError; :inner; end; end",
        ":inner",
    );
    check_raised(
        "begin; raise 'a'; rescue KeyError; 1; rescue; wait 1; end",
        "KeyError: gone",
    );
}

#[test]
fn exception_of_a_wait_runs_ensure_and_names_its_line() {
    check_raised("begin; wait 1; ensure; $o = 1; end", "KeyError: gone");
    check_raised(
        "o = []; begin; begin; wait 1; ensure; o << 1; end; rescue KeyError; o << 2; end; o",
        "[1, 2]",
    );
    check_raised(
        "\nbegin\n  wait 1\n  nil\nrescue KeyError => e\n  e.backtrace.find { |l| l.include?('app.rb') }\nend",
        "\"app.rb:3:in run_program\"",
    );
}

#[test]
fn a_fibre_that_has_not_begun_ends_with_what_it_is_resumed_with() {
    let fibre = Loop::new();
    fibre.vm.enter(|scope| {
        let error = scope.error("KeyError", "gone");
        let ended = scope.resume_raising(scope.rooted(&fibre.fibre), error);
        let raised = ended.map(drop).expect_err("nothing in it rescues");
        assert_eq!(scope.report(raised).to_string(), "KeyError: gone");
        let again = scope.resume(scope.rooted(&fibre.fibre), Value::nil());
        let raised = again.map(drop).expect_err("it has ended");
        assert!(scope.report(raised).to_string().starts_with("FiberError: "));
    });
}

/// Both ask for the hook before the same instruction.
#[test]
fn an_interrupt_is_not_lost_when_a_wait_raises() {
    let fibre = Loop::new();
    let source = "begin; wait 1; rescue KeyError; true while true; end";
    let interrupter = fibre.vm.interrupter();
    fibre.vm.enter(|scope| {
        let program = scope.compile(source.as_bytes(), "app.rb", 1).unwrap();
        scope.resume(scope.rooted(&fibre.fibre), program).unwrap();
        let next = interrupter.entry().unwrap() + 1;
        interrupter.stop(next);
        let error = scope.error("KeyError", "gone");
        scope
            .resume_raising(scope.rooted(&fibre.fibre), error)
            .unwrap();
    });
    let result = fibre.done.take().unwrap();
    assert!(result.starts_with("Tsumugi::Overrun: "), "{result}");
}

#[test]
fn ten_thousand_fibres_park_and_end() {
    let fibre = Loop::new();
    let before = fibre.vm.memory_used();
    let spawn = |scope: &tsumugi_mruby::Scope<'_>| {
        let tsumugi = scope.constant("Tsumugi").unwrap();
        scope
            .root(scope.call(tsumugi, "spawn", &[]).unwrap())
            .unwrap()
    };
    let program = fibre.vm.enter(|scope| {
        scope
            .root(
                scope
                    .compile(b"[1].each { |i| wait i }", "app.rb", 1)
                    .unwrap(),
            )
            .unwrap()
    });
    let parked: Vec<Root> = (0..10_000)
        .map(|_| {
            fibre.vm.enter(|scope| {
                let root = spawn(scope);
                scope
                    .resume(scope.rooted(&root), scope.rooted(&program))
                    .unwrap();
                root
            })
        })
        .collect();
    let each = (fibre.vm.memory_used() - before) / parked.len();
    assert!(each < 8 << 10, "{each} bytes a parked fibre");
    for root in &parked {
        fibre.vm.enter(|scope| {
            scope.resume(scope.rooted(root), Value::nil()).unwrap();
        });
        assert_eq!(fibre.done.take().unwrap(), "[1]");
    }
}

/// Interrupts `fibre` from another thread once it has run for a while; `act` gets the entry to interrupt.
fn interrupted(
    source: &str,
    act: impl Fn(&tsumugi_mruby::Interrupter, u64) + Send + 'static,
) -> (Loop, String, Duration) {
    let fibre = Loop::new();
    let interrupter = fibre.vm.interrupter();
    // Not while it is compiled, however long that takes.
    let program = fibre.compile(source);
    let compiled = interrupter.entry();
    let over = Arc::new(AtomicBool::new(false));
    let watchdog = std::thread::spawn({
        let over = over.clone();
        move || {
            while interrupter.entry() == compiled {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(50));
            while !over.load(Ordering::Relaxed) {
                let entry = interrupter.entry();
                entry.into_iter().for_each(|entry| act(&interrupter, entry));
                // Time to end, so that what comes behind the program is not interrupted.
                for _ in 0..200 {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
    });
    let start = Instant::now();
    let (result, _) = fibre.start(program);
    over.store(true, Ordering::Relaxed);
    watchdog.join().unwrap();
    (fibre, result, start.elapsed())
}

#[test]
fn an_endless_loop_is_stopped_from_another_thread() {
    for source in [
        "while true; end",
        "loop { }",
        "def f; f2; end; def f2; end; f while true",
        "[1].cycle { |x| x + 1 }",
    ] {
        let (fibre, result, _) = interrupted(source, tsumugi_mruby::Interrupter::stop);
        assert!(
            result.starts_with("Tsumugi::Overrun: "),
            "{source}: {result}"
        );
        assert_eq!(fibre.run("1 + 1").0, "2");
    }
}

#[test]
fn ensure_runs_when_a_loop_is_stopped() {
    let (fibre, result, _) = interrupted(
        "begin; while true; end; ensure; $e = 1; end",
        tsumugi_mruby::Interrupter::stop,
    );
    assert!(result.starts_with("Tsumugi::Overrun: "), "{result}");
    assert_eq!(fibre.run("$e").0, "1");
}

#[test]
fn insisting_ends_a_loop_that_rescues_everything() {
    let (fibre, result, _) = interrupted(
        "while true; begin; while true; end; rescue Exception; end; end",
        tsumugi_mruby::Interrupter::insist,
    );
    assert!(result.starts_with("Tsumugi::Overrun: "), "{result}");
    assert_eq!(fibre.run("1 + 1").0, "2");
}

#[test]
fn a_request_for_an_earlier_entry_interrupts_nothing() {
    let (_, result, _) = interrupted(
        "a = 0; 3_000_000.times { a += 1 }; a",
        |interrupter, entry| interrupter.stop(entry - 1),
    );
    assert_eq!(result, "3000000");
}

#[test]
fn a_slow_program_is_reported_with_its_line() {
    let fibre = Loop::new();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    fibre
        .vm
        .on_slow(move |file, line| log.borrow_mut().push((file.to_owned(), line)));
    let interrupter = fibre.vm.interrupter();
    let program = fibre.compile("a = 0\n20_000_000.times do\n  a += 1\nend");
    let compiled = interrupter.entry();
    let watchdog = std::thread::spawn(move || {
        while interrupter.entry() == compiled {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(50));
        interrupter.report(interrupter.entry().unwrap());
    });
    fibre.start(program);
    watchdog.join().unwrap();
    let seen = seen.borrow();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].0, "app.rb");
    assert!((2..=3).contains(&seen[0].1), "{seen:?}");
}
