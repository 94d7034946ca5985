//! A Hash has the entries that it was given, in their order, whatever was set, deleted, copied and merged before.

use tsumugi_mruby::{Options, Vm};

fn check(source: &str) {
    let vm = Vm::open(Options::default()).unwrap();
    vm.enter(|scope| {
        let program = scope.compile(source.as_bytes(), "hashes.rb", 1).unwrap();
        match scope.run(program) {
            Ok(result) => assert_eq!(scope.text(result).as_deref(), Some("all are equal")),
            Err(raised) => panic!("{}", scope.report(raised)),
        }
    });
}

#[test]
fn entries_are_those_of_a_list_of_pairs() {
    check(
        r##"
        def equal(found, expected)
          raise "#{found.inspect} is not #{expected.inspect}" unless found == expected
        end
        seed = 1
        random = ->(n) { seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648; seed / 65_536 % n }
        300.times do
          pairs = []
          hash = {}
          60.times do
            key = random.(2) == 0 ? :"symbol#{random.(25)}" : random.(25).to_s
            if random.(3) == 0
              hash.delete(key)
              pairs.reject! { |name, _| name == key }
            else
              value = random.(1000)
              hash[key] = value
              pair = pairs.find { |name, _| name == key }
              pair ? pair[1] = value : pairs << [key, value]
            end
            copy = { **hash }
            equal(hash.to_a, pairs)
            equal(copy.to_a, pairs)
            equal(hash.merge({ added: 1 }).to_a, pairs + [[:added, 1]])
            equal({ added: 1, **hash }.to_a, [[:added, 1]] + pairs)
            pairs.each { |name, value| equal([hash[name], copy[name]], [value, value]) }
            hash = copy if random.(4) == 0
          end
        end
        "all are equal"
        "##,
    );
}

#[test]
fn merging_changes_neither_and_keeps_class_and_default() {
    check(
        r##"
        def equal(found, expected)
          raise "#{found.inspect} is not #{expected.inspect}" unless found == expected
        end
        class Tagged < Hash; attr_accessor :tag; end
        tagged = Tagged.new
        tagged[:a] = tagged.tag = 5
        merged = tagged.merge({ b: 2 })
        equal([merged.class, merged.tag, merged.to_a, tagged.to_a], [Tagged, 5, [[:a, 5], [:b, 2]], [[:a, 5]]])
        counted = Hash.new { |hash, key| hash[key] = key.to_s }
        equal([counted.merge({ y: 2 })[:q], counted.size], ["q", 0])
        equal(Hash.new(7).merge({ a: 1 })[:b], 7)
        frozen = { a: 1 }.freeze
        equal([frozen.merge.frozen?, { **frozen }.frozen?, frozen.merge({ b: 2 }).size, frozen.size], [false, false, 2, 1])
        begin
          {}.merge(5)
          raise "merged an Integer"
        rescue TypeError
          "all are equal"
        end
        "##,
    );
}
