//! The collector and what it must not free: what only a parked or an ended fibre refers to, and what is stored while a
//! collection is half done. Every test walks through the phases of a collection, with and without generations.
//! A freed object is noticed by what has taken its place: each value is read after many allocations.

use tsumugi_mruby::{Options, Reply, Root, Value, Vm, Waits};

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
                Waits::Maybe,
                |_, call| Ok(Reply::Yield(call.argument(0))),
            )
            .unwrap();
        for source in [&format!("GC.generational_mode = {mode}"), source, FIBRE] {
            let program = scope.compile(source.as_bytes(), "app.rb", 1).unwrap();
            scope.run(program).unwrap();
        }
        scope.root(scope.global(scope.intern("$fibre")))
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
fn what_a_parked_fibre_alone_refers_to_stays() {
    check("def prepare = nil; def store = empty_boxes; def probe(_, stored) = stored");
}

#[test]
fn what_is_stored_in_older_objects_stays() {
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
fn what_a_block_of_an_ended_fibre_refers_to_stays() {
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
