# Modules and classes looked at and changed by programs: what CRuby's have and mruby's lack, or do without a word.
class Module
  alias __attr_reader attr_reader
  alias __attr_writer attr_writer
  alias __const_defined? const_defined?
  alias __define_method define_method
  alias __module_function module_function

  # The names of the methods, as `private attr_reader :a` wants them.
  def attr_reader(*names)
    __attr_reader(*names)
    names.map(&:to_sym)
  end
  alias attr attr_reader

  def attr_writer(*names)
    __attr_writer(*names)
    names.map { |name| :"#{name}=" }
  end

  def attr_accessor(*names)
    names.flat_map { |name| attr_reader(name) + attr_writer(name) }
  end

  # `A::B` is looked up part by part.
  def const_defined?(name, inherit = true)
    return __const_defined?(name, inherit) unless name.to_s.include?("::")

    holder = self
    name.to_s.split("::").each do |part|
      return false unless holder.is_a?(Module) && holder.__const_defined?(part)

      holder = holder.const_get(part)
    end
    true
  end

  # A Method or an UnboundMethod is called with what the new one is called with.
  def define_method(name, body = nil, &block)
    case body
    when Method then __define_method(name) { |*arguments, **named, &given| body.call(*arguments, **named, &given) }
    when UnboundMethod then __define_method(name) { |*arguments, **named, &given| body.bind(self).call(*arguments, **named, &given) }
    when nil then __define_method(name, &block)
    else __define_method(name, body)
    end
    name.to_sym
  end

  def module_function(*names)
    return __module_function(*names) unless names.empty?

    raise NotImplementedError, "mruby has no module_function without names; use `extend self`, or module_function with the names after their methods"
  end

  # Visibility is not kept: every method is public.
  def private_method_defined?(_name, _inherit = true) = false
  def protected_method_defined?(_name, _inherit = true) = false
end

module Kernel
  alias __clone clone

  # `freeze: false` makes a copy that can be changed.
  def clone(freeze: nil)
    return __clone if freeze.nil?

    copy = freeze ? __clone : dup
    freeze ? copy.freeze : copy
  end
end
