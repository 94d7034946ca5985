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
      # `=begin` has to stand where a line begins.
      names = eval("(begin\n#{code}\nend) if false\nlocal_variables", @binding, "console", line)
      (names - @binding.local_variables).each { |name| @binding.local_variable_set(name, nil) }
      value = eval(code, @binding, "console", line)
      @binding.local_variable_set(:_, value)
      case value
      when DB::Rows then table(value.columns, value.first(ROWS_MAX + 1))
      when DB::Query then queried(value)
      else value.inspect
      end
    end

    ROWS_MAX = 50
    CELL_CHARACTERS_MAX = 60

    # The first rows of a query, without fetching the others.
    def self.queried(query)
      rows = []
      query.each(batch: ROWS_MAX + 1) do |row|
        rows << row
        break if rows.size > ROWS_MAX
      end
      table(rows.empty? ? query.columns : rows[0].keys, rows)
    end

    # Names, texts of the values by row, and whether there is more.
    def self.table(columns, rows)
      [columns.map { |name| name.to_s }, rows.first(ROWS_MAX).map { |row| row.values.map { |value| cell(value) } }, rows.size > ROWS_MAX]
    end

    def self.cell(value)
      text = case value
             when nil then "NULL"
             when String then value.inspect[1..-2].gsub("\\\"", "\"")
             else value.to_s
             end
      text.size > CELL_CHARACTERS_MAX ? "#{text[0, CELL_CHARACTERS_MAX - 1]}…" : text
    end
  end
end
