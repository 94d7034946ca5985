//! The collector and what it must not free: what only a parked or an ended fibre refers to, what is stored while a
//! collection is half done, what is being made when memory ends. `check` walks through the phases of a collection, with and
//! without generations. A freed object is noticed by what has taken its place: each value is read after many allocations.
//! The last tests are about when the collector comes.

use std::cell::Cell;
use std::rc::Rc;

use tsumugi_mruby::{NativeReply, Options, Root, Scope, Suspension, Value, Vm};

/// The fibre that a test runs in. It parks after each part of a round. `store` moves what is in the boxes, which the
/// collector may not have seen yet, to where it perhaps has been already; `probe` answers what is there in the end.
const FIBRE: &str = r##"
GC.interval_ratio = 110 # a collection begins soon after the last
def fill_boxes = ($boxes = Array.new(100) { |i| ["kept #{i}"] })
def empty_boxes = $boxes.map { |box| [box.pop] }
def reach(objects) = ($grown = Array.new(objects) { |i| "grown #{i}" })
def refill = ($filling = Array.new(12_000) { |i| "filling #{i}" })
def lost(cells) = cells.reject.with_index { |cell, i| cell == ["kept #{i}"] }

$fibre = Fiber.new do
  while true
    fill_boxes
    prepared = prepare
    reach park
    stored = store
    park
    refill
    park lost(probe(prepared, stored)).size.to_s
    $grown = $filling = nil
  end
end
"##;

/// How many objects are made (and kept) between a full collection and `store`: from none to more than a major
/// collection takes, in parts of one of its steps.
const OBJECTS_MAX: usize = 12_000;
const OBJECTS_STEP: usize = 250;

fn open(mode: &str, source: &str) -> (Vm, Root) {
    let vm = Vm::open(Options::default()).unwrap();
    let fibre = vm.enter(|scope| {
        scope
            .define_method(
                scope.constant("Object").unwrap(),
                "park",
                Suspension::Maybe,
                |_, call| Ok(NativeReply::Yield(call.argument(0))),
            )
            .unwrap();
        for source in [&format!("GC.generational_mode = {mode}"), source, FIBRE] {
            let program = scope.compile(source.as_bytes(), "app.rb", 1).unwrap();
            scope.run(program).unwrap();
        }
        scope.root(scope.global(scope.intern("$fibre"))).unwrap()
    });
    (vm, fibre)
}

/// `source` defines the methods `prepare`, `store` and `probe`.
fn check(source: &str) {
    for mode in ["false", "true"] {
        let (vm, fibre) = open(mode, source);
        let step = |input: Value<'_>| {
            vm.enter(|scope| match scope.resume(scope.rooted(&fibre), input) {
                Ok(output) => scope.text(output),
                Err(raised) => panic!("{}", scope.report(raised)),
            })
        };
        step(Value::nil());
        for objects in (0..OBJECTS_MAX).step_by(OBJECTS_STEP) {
            vm.enter(|scope| scope.collect());
            let count = i64::try_from(objects).unwrap();
            vm.enter(|scope| step(scope.integer(count)));
            vm.enter(|scope| scope.collect());
            let lost = step(Value::nil());
            assert_eq!(
                lost.as_deref(),
                Some("0"),
                "lost; generational: {mode}, objects: {objects}"
            );
            step(Value::nil());
        }
    }
}

#[test]
fn object_of_a_parked_fibre_alone_stays() {
    check("def prepare = nil; def store = empty_boxes; def probe(_, stored) = stored");
}

#[test]
fn object_stored_in_an_older_one_stays() {
    check(
        r##"
        class Holder; attr_accessor :value; end
        $array, $hash, $holder = [nil], {}, Holder.new
        def prepare = nil
        def store
          $array[0] = empty_boxes
          $hash[:key] = [$array[0][0].dup]
          $holder.value = [$array[0][1].dup]
          nil
        end
        def probe(_, _) = $hash[:key] + $holder.value + $array[0].drop(2)
        "##,
    );
}

#[test]
fn a_block_stays_while_the_method_that_it_was_given_to_runs() {
    // The method has overwritten its own reference; when it returns, the block is marked as an orphan.
    check(
        r##"
        def forget(&block)
          block = nil
          refill
          empty_boxes
        end
        def prepare = nil
        def store = forget { |value| value.to_s }
        def probe(_, stored) = stored
        "##,
    );
}

#[test]
fn object_of_an_ended_fibres_block_stays() {
    for end in ["nil", "raise 'over'", "break"] {
        let source = r##"
            def prepare
              $ending = Fiber.new do
                value = nil
                Fiber.yield(-> { value })
                value = empty_boxes
                END
              end
              $ending.resume
            end
            def store
              $ending.resume
              nil
            rescue StandardError
              nil
            end
            def probe(block, _) = block.call
        "##;
        check(&source.replace("END", end));
    }
}

/// A VM in whose heap `taken` places are taken.
fn open_with_taken(taken: usize, bytes_max: usize) -> Vm {
    let vm = Vm::open(Options {
        memory_bytes_max: bytes_max,
        ..Options::default()
    })
    .unwrap();
    vm.enter(|scope| {
        let source = format!(
            "$ballast = 'b' * 200_000; $taken = Array.new(1_024)
             {taken}.times {{ |i| $taken[i] = 'taken' }}; GC.start"
        );
        let program = scope.compile(source.as_bytes(), "app.rb", 1).unwrap();
        scope.run(program).unwrap();
    });
    vm
}

const VALUES: usize = 2_000;

/// The VM's bytes before each of the values that one scope makes, and after the last.
fn bytes_used(taken: usize) -> Vec<usize> {
    let vm = open_with_taken(taken, 64 << 20);
    vm.enter(|scope| {
        let used = (0..VALUES).map(|i| {
            let used = vm.memory_used();
            scope.string(i.to_string()).unwrap();
            used
        });
        used.collect()
    })
}

#[test]
fn a_value_stays_when_memory_ends_while_it_is_made() {
    // A value may need a larger table of protected values, and may be the first in a new page of objects. Make one need
    // both, and leave no memory for both.
    let growths = |taken| -> Vec<(usize, usize)> {
        let used = bytes_used(taken);
        let growths = used.windows(2).map(|pair| pair[1] - pair[0]).enumerate();
        growths.filter(|&(_, growth)| growth > 0).collect()
    };
    let apart = growths(0);
    let second_page = apart
        .iter()
        .rposition(|&(_, bytes)| bytes > 40_000)
        .unwrap();
    let ((value, table), (page_value, page)) = (apart[second_page - 1], apart[second_page]);
    let taken = page_value - value;
    assert!(growths(taken).contains(&(value, page + table)), "{apart:?}");
    let vm = open_with_taken(taken, bytes_used(taken)[value] + page + table / 2);
    vm.enter(|scope| {
        let ballast = scope.intern("$ballast");
        let make = |i: usize| scope.string(i.to_string());
        let values: Vec<_> = (0..VALUES)
            .map(|i| match make(i) {
                Ok(value) => value,
                Err(_) => {
                    scope.set_global(ballast, Value::nil()).unwrap();
                    make(i).unwrap()
                }
            })
            .collect();
        for (i, value) in values.into_iter().enumerate() {
            assert_eq!(scope.text(value), Some(i.to_string()));
        }
    });
}

/// The most bytes that a VM has while `step` runs 500 times in it, above those it had when it had run `source`.
fn growth(source: &str, step: impl Fn(&Scope<'_>)) -> usize {
    let vm = Vm::open(Options::default()).unwrap();
    vm.enter(|scope| {
        let source = format!("{source}; GC.start");
        let program = scope.compile(source.as_bytes(), "app.rb", 1).unwrap();
        scope.run(program).unwrap();
    });
    let before = vm.memory_used();
    let used = (0..500).map(|_| {
        vm.enter(|scope| step(scope));
        vm.memory_used()
    });
    used.max().unwrap() - before
}

#[test]
fn few_large_strings_are_collected_long_before_the_limit() {
    let piece = vec![b'x'; 1 << 20];
    for mode in [
        "GC.generational_mode = false",
        "GC.generational_mode = true",
    ] {
        let growth = growth(mode, |scope| {
            scope.string(&piece).unwrap();
        });
        assert!(growth < 24 << 20, "{growth}; {mode}");
    }
}

#[test]
fn large_strings_are_collected_beside_many_objects() {
    // A collection takes many steps, and what the first ones free must not let the others wait.
    let piece = vec![b'x'; 64 << 10];
    let growth = growth("$live = Array.new(15_000) { |i| [i.to_s] }", |scope| {
        for _ in 0..10 {
            scope.nested(|scope| {
                scope.string(&piece).unwrap();
            });
        }
    });
    assert!(growth < 24 << 20, "{growth}");
}

#[test]
fn large_strings_are_collected_while_a_collection_is_under_way() {
    // It began before the strings were made, for the number of objects.
    let piece = vec![b'x'; 1 << 20];
    let growth = growth("GC.interval_ratio = 110", |scope| {
        let source = "Array.new(300) { |i| i.to_s }";
        let program = scope.compile(source.as_bytes(), "app.rb", 1).unwrap();
        scope.run(program).unwrap();
        scope.string(&piece).unwrap();
    });
    assert!(growth < 24 << 20, "{growth}");
}

#[test]
fn data_that_owns_memory_is_collected_as_if_it_were_the_vms() {
    let alive = Rc::new(());
    let most = Cell::new(0);
    growth("", |scope| {
        let object = scope.object_class();
        let class = scope.define_class(Value::nil(), "Owner", object).unwrap();
        scope.carries_data(class);
        let data = Rc::clone(&alive);
        scope.wrap_sized(class, data, 1 << 20).unwrap();
        most.set(most.get().max(Rc::strong_count(&alive)));
    });
    assert!(most.get() < 24, "{}", most.get());
    assert_eq!(Rc::strong_count(&alive), 1, "the VM is closed");
}
