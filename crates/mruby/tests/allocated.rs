//! Objects that are allocated but not initialized, and those that ObjectSpace shows: each method answers or raises.

use tsumugi_mruby::{Options, Vm};

const CALLS: &str = r#"
ARGUMENTS = [[], [1], ["a"], [nil], [[1]], [:a], [1, 2], [{}]]
LEFT_OUT = %i[loop fail raise throw exit exit! abort srand gets sleep callcc binding eval instance_eval class_eval module_eval
  instance_exec class_exec module_exec define_method remove_method undef_method remove_const alias_method freeze method_missing
  attr_writer attr_accessor attr attr_reader private public protected include prepend extend const_set class_variable_set
  module_function remove_class_variable inherited included extended prepended p puts print __printstr__ printf each_call classes]

def each_call(object)
  made = begin; object.is_a?(Module) ? [] : object.methods; rescue NoMethodError; []; end
  (made - LEFT_OUT).each do |name|
    ARGUMENTS.each do |arguments|
      begin
        object.__send__(name, *arguments) { |*| break }
      rescue Exception
        1
      end
      begin
        object.__send__(name, *arguments)
      rescue Exception
        1
      end
    end
  end
end

def classes(under = Object, found = [])
  names = begin; under.constants; rescue NotImplementedError; []; end
  names.each do |name|
    value = begin; under.const_get(name); rescue Exception; next; end
    next if !value.is_a?(Module) || found.include?(value)

    found << value
    classes(value, found)
  end
  found
end
"#;

fn check(program: &str, expected: &str) {
    let vm = Vm::open(Options::default()).unwrap();
    vm.enter(|scope| {
        let source = format!("{CALLS}\n{program}");
        let program = scope.compile(source.as_bytes(), "allocated.rb", 1);
        let result = scope.run(program.unwrap());
        let result = result.and_then(|value| scope.call(value, "to_s", &[]));
        let text = result.map(|text| scope.text(text).unwrap());
        assert_eq!(
            text.map_err(|raised| scope.report(raised).message),
            Ok(expected.to_owned())
        );
        scope.collect();
    });
}

#[test]
fn objects_that_were_not_initialized_answer_or_raise() {
    check(
        "made = 0
         classes.each do |c|
           next unless c.is_a?(Class)

           [-> { c.allocate }, -> { Class.new(c) { def initialize(*) = nil }.new { 1 } }].each do |make|
             object = begin; make.call; rescue Exception; next; end
             made += 1
             each_call(object)
           end
         end
         made > 20",
        "true",
    );
}

#[test]
fn objects_that_object_space_shows_answer_or_raise() {
    check(
        "shown = []
         ObjectSpace.each_object { |object| shown << object }
         shown.each { |object| begin; [object.inspect, object.class, object.hash, object == 1, object.to_s, object.dup]; rescue Exception; 1; end }
         ObjectSpace.each_object(Proc) { |object| begin; [object.arity, object.parameters, object.lambda?, object.inspect, object.dup]; rescue Exception; 1; end }
         ObjectSpace.each_object(Module) { |object| begin; [object.name, object.ancestors, object.instance_methods(false)]; rescue Exception; 1; end }
         ObjectSpace.each_object { |object| object.inspect.size rescue 0 }
         shown.size > 100 && shown.none? { |object| object.class.nil? }",
        "true",
    );
}
