# Prints what authors call, a line each: modules with their superclasses, methods with their parameters. Read by signatures.rs.

# What CRuby has too, or what the test itself defines.
NOT_OURS = %i[own? describe dump to_s inspect include define_method public private protected using p puts print sleep].freeze
# Made for the product itself.
INNER = %w[Tsumugi::Jobs::Kind Tsumugi::Jobs::JobContext KV::Lead].freeze

def own?(name)
  name = name.to_s
  !name.start_with?("__") && name != "initialize" && name != "native"
end

# The place too, which says where the comments are.
def describe(name, method)
  file, line = method.source_location
  known = file.to_s.start_with?("tsumugi/")
  parameters = method.parameters.map { |kind, word| [kind, word].compact.join(":") }
  $found << [name, known ? parameters.join(",") : "?", known ? "#{file}:#{line}" : "-"].join(" ")
end

def dump(path, holder)
  return if INNER.include?(path)

  $found << "#{holder.is_a?(Class) ? 'class' : 'module'} #{path} #{holder.superclass if holder.is_a?(Class)}"
  holder.singleton_methods(false).sort.each { |name| describe("#{path}.#{name}", holder.method(name)) if own?(name) }
  holder.instance_methods(false).sort.each { |name| describe("#{path}##{name}", holder.instance_method(name)) if own?(name) }
  holder.constants.sort.each do |name|
    inner = holder.const_get(name)
    dump("#{path}::#{name}", inner) if inner.is_a?(Module) && inner.to_s == "#{path}::#{name}"
  end
end

$found = []
singleton_methods.sort.each { |name| describe("main.#{name}", method(name)) if own?(name) && !NOT_OURS.include?(name) }
Kernel.instance_methods(false).sort.each do |name|
  method = Kernel.instance_method(name)
  file = method.source_location.to_a[0].to_s
  ours = file.start_with?("tsumugi/") && !file.start_with?("tsumugi/std/") && file != "tsumugi/ngx_mruby.rb"
  describe("main.#{name}", method) if ours && own?(name) && !NOT_OURS.include?(name)
end
%i[DB KV HTTP Upload Password].each { |name| dump(name.to_s, Object.const_get(name)) }
%i[Body Cancelled Channel Context Cookies EventStream Halt Headers Invalid Jobs KeptChannel Lock Log MessageChannel Output Overrun Parameters Request Session WebSocket
   Worker].each { |name| dump("Tsumugi::#{name}", Tsumugi.const_get(name)) }
$found << "module Tsumugi::Views "
dump("Tsumugi::Views::Methods", Tsumugi::Views::Methods)
$found.each { |line| puts line }
