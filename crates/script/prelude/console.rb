# What a line of `tsumugi console` runs with: helpers, plugins and the client in the same process. Loaded only there.
# Reading lines and showing results is not done here.
module Tsumugi
  class Console < TimerContext
    include Client

    def inspect = "#<console>"

    # Where the first line runs.
    def __binding
      _ = nil
      binding
    end
  end

  # Local variables live in one binding. Those that a line is going to make are put there before it runs, so that its
  # blocks see the same variables as the lines after it.
  module Evaluator
    @binding = Console.new.__binding

    # The job that runs one line; its value is what is shown.
    def self.job(code, line) = Task.new { evaluate(code, line) }

    def self.evaluate(code, line)
      names = eval("(begin;#{code}\nend) if false\nlocal_variables", @binding, "console", line)
      (names - @binding.local_variables).each { |name| @binding.local_variable_set(name, nil) }
      value = eval(code, @binding, "console", line)
      @binding.local_variable_set(:_, value)
      value.inspect
    end
  end
end
