# What NameError and NoMethodError say besides: what to use in place of a name of CRuby, or which names are like the unknown one.
module Tsumugi
  module Hints
    class << self
      # `message` with what may have been meant.
      def with(message)
        hint = constant(message) || method(message)
        hint ? "#{message}; #{hint}" : message
      end

      private

      def constant(message)
        return unless message.start_with?("uninitialized constant ")

        *path, name = message[23..-1].split("::")
        absent = Native.absent_constant(name) if path.empty?
        holder = path.empty? ? Object : named(path.join("::"))
        absent || (holder && offer(Native.alike_names(name, holder.constants)))
      end

      def method(message)
        return unless message.start_with?("undefined method '")

        name, receiver = message[18..-1].split("' for ", 2)
        return unless receiver

        kind, class_name = receiver.split(" ", 2)
        return meant(class_name[12..-1], name, false) if kind == "an"
        return meant(class_name, name, true) if kind == "class" || kind == "module"
      end

      def meant(class_name, name, singleton)
        holder = named(class_name)
        own = holder.__instead_of(name) if !singleton && holder.respond_to?(:__instead_of)
        return own if own

        absent = Native.absent_class_method(class_name.to_s, name) if singleton
        absent ||= Native.absent_method(singleton && holder ? holder.class.to_s : class_name.to_s, name)
        return absent if absent || holder.nil?

        known = singleton ? holder.methods : holder.instance_methods
        known += Tsumugi.main.singleton_methods if holder == Object
        offer(Native.alike_names(name, known.reject { |method| method.start_with?("__") }))
      end

      def offer(names) = names.empty? ? nil : "did you mean #{names.join(', ')}?"

      # A class by its name; nil for one that has none.
      def named(name)
        name.to_s.split("::").reduce(Object) do |holder, part|
          return nil unless holder.is_a?(Module) && part =~ /\A[A-Z]\w*\z/ && holder.const_defined?(part)

          holder.const_get(part)
        end
      end
    end
  end

  class << self
    attr_accessor :main
  end
end

Tsumugi.main = self

class NameError
  def message = Tsumugi::Hints.with(super)
end
