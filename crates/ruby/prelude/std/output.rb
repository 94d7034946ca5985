# $stdout, $stderr and $0. Programs that say where they print need not change; neither can be replaced by a file.
module Tsumugi
  # What `puts` without a receiver writes to, or the log.
  class StandardOutput
    def initialize(log)
      @log = log
    end

    def write(*texts)
      texts = texts.map(&:to_s)
      @log ? Native.log("warn", texts.join.chomp, {}) : Native.print(texts.join)
      texts.sum(&:bytesize)
    end

    def print(*texts)
      write(*texts)
      nil
    end

    def puts(*lines)
      lines = lines.flatten
      write(lines.empty? ? "\n" : lines.map { |line| line.to_s.end_with?("\n") ? line.to_s : "#{line}\n" }.join)
      nil
    end

    def <<(text)
      write(text)
      self
    end

    def printf(format, *values) = print(format(format, *values))
    def p(*values) = puts(*values.map(&:inspect))
    def flush = self
    def sync = true
    def sync=(on); end
    def tty? = false
    alias isatty tty?
  end
end

STDOUT = $stdout = Tsumugi::StandardOutput.new(false)
STDERR = $stderr = Tsumugi::StandardOutput.new(true)
$0 = $PROGRAM_NAME = Tsumugi::Native.source_main
$, = nil
$/ = "\n"
