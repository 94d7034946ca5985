# ENV, require, require_relative, load, __dir__. Files are read off the worker, and what a file does when it loads may wait.
class LoadError < ScriptError; end

module Tsumugi
  # The environment as it was when this worker loaded the application. Workers share one process, so it cannot be changed.
  class Environment
    include Enumerable

    def initialize(variables)
      @variables = variables.freeze
    end

    def [](name) = @variables[name]

    def fetch(name, *default, &block)
      return @variables[name] if @variables.key?(name)
      return block.call(name) if block
      return default[0] unless default.empty?

      raise KeyError, "key not found: #{name.inspect}"
    end

    def key?(name) = @variables.key?(name)
    alias has_key? key?
    alias include? key?
    alias member? key?
    def keys = @variables.keys
    def values = @variables.values
    def values_at(*names) = @variables.values_at(*names)
    def slice(*names) = @variables.slice(*names)
    def to_h(&block) = block ? @variables.to_h(&block) : @variables.dup
    alias to_hash to_h
    def empty? = @variables.empty?
    def size = @variables.size
    def inspect = @variables.inspect
    def to_s = "ENV"

    def each(&block)
      @variables.each(&block)
      self
    end
    alias each_pair each

    def []=(name, _value)
      raise FrozenError, "ENV[#{name.inspect}] cannot be set: workers share one process; set it before the server starts"
    end
    alias store []=
    def delete(name) = self[name] = nil
  end

  # Files of the application that are loaded once.
  module Files
    # What CRuby's standard library has in files is always there.
    BUILT_IN = %w[json set time securerandom digest digest/md5 digest/sha1 digest/sha2 openssl base64 uri cgi cgi/util
                  cgi/escape erb bundler/setup rubygems pp fiber enumerator rational].freeze

    # What it has and is not here, with what to use in its place.
    ABSENT = {
      "date" => "Time, or DB::Date for days of a database", "bigdecimal" => "DB::Decimal", "strscan" => "Regexp and String#index",
      "net/http" => "http", "open-uri" => "http", "thread" => "fibres: each request has one", "monitor" => "fibres: each request has one",
      "socket" => "http, or a database", "fileutils" => "a store (KV.open) or a database", "tempfile" => "a store (KV.open) or a database",
      "yaml" => "JSON", "psych" => "JSON", "logger" => "log", "csv" => "String#split, or csv of a query for responses", "ostruct" => "Struct, Data or a Hash",
      "stringio" => "String and <<", "timeout" => "timeout: of http, of a query and of a job", "weakref" => "a store with ttl:",
      "forwardable" => "methods that call the other object", "delegate" => "methods that call the other object",
      "singleton" => "a module with `extend self`, or plugin", "observer" => "Tsumugi::Channel, or channel",
      "benchmark" => "Process.clock_gettime(Process::CLOCK_MONOTONIC)", "optparse" => "ENV", "shellwords" => "String#split", "English" => "the globals themselves",
      "zlib" => "compress for responses", "pathname" => "String", "open3" => "a service of its own that http asks", "etc" => "worker.count",
      "io/console" => "a request's body", "matrix" => "Arrays", "prime" => "a method of your own", "tsort" => "a method of your own",
      "concurrent" => "fibres: each request has one, parallel runs several", "async" => "fibres: each request has one, parallel runs several",
      "sinatra" => "get, post and their siblings, which are built in", "rack" => "get, post and their siblings, which are built in",
      "rails" => "get, post and their siblings, which are built in", "pg" => "DB.connect", "sqlite3" => "DB.connect", "mysql2" => "DB.connect",
      "sequel" => "DB.connect", "active_record" => "DB.connect", "redis" => "KV.open", "faraday" => "http", "httparty" => "http",
      "sidekiq" => "job", "minitest" => "test, in files below test/", "rspec" => "test, in files below test/"
    }.freeze

    @loaded = {}

    class << self
      # Does +names+' first existing file, unless it was done already.
      def once(names, absent: nil)
        name, path, text = find(names, absent)
        return false if @loaded[path]

        @loaded[path] = true
        begin
          Tsumugi.run_program(Native.source_compile(name, text))
        rescue Exception => e
          @loaded.delete(path)
          raise e
        end
        true
      end

      # The first existing file. If there is none, and CRuby has a library +absent+ that is not here, the error says what to use.
      def find(names, absent)
        Native.source_read(names)
      rescue LoadError => e
        raise e unless ABSENT[absent]

        raise LoadError, "#{absent} is not here; use #{ABSENT[absent]}"
      end

      def again(names)
        name, _, text = Native.source_read(names)
        Tsumugi.run_program(Native.source_compile(name, text))
        true
      end

      def paths = @loaded.keys

      def ruby(path) = path.end_with?(".rb") ? [path] : ["#{path}.rb"]

      def beside(file, path)
        return path if path.start_with?("/")

        folder = folder_of(file)
        path = path[2..-1] while path.start_with?("./")
        folder == "." ? path : "#{folder}/#{path}"
      end

      def folder_of(file)
        at = file.rindex("/")
        return "." unless at

        at == 0 ? "/" : file[0, at]
      end
    end
  end
end

ENV = Tsumugi::Environment.new(Tsumugi::Native.environment)

module Kernel
  # Loads a file once, by its path from the file that says so.
  def require_relative(path)
    Tsumugi::Files.once(Tsumugi::Files.ruby(Tsumugi::Files.beside(Tsumugi::Native.source_location.to_s, path)))
  end

  # Loads a file once, by its path from the application's folder or that folder's lib. Names of CRuby's standard library that
  # are built in answer false.
  def require(name)
    return false if Tsumugi::Files::BUILT_IN.include?(name)

    main = Tsumugi::Native.source_main
    files = [name, "lib/#{name}"].flat_map { |path| Tsumugi::Files.ruby(Tsumugi::Files.beside(main, path)) }.uniq
    Tsumugi::Files.once(files, absent: name)
  end

  # Loads a file each time it is called.
  def load(path, _wrap = false)
    Tsumugi::Files.again([Tsumugi::Files.beside(Tsumugi::Native.source_main, path), path].uniq)
  end

  # The folder of the file that says so.
  def __dir__ = Tsumugi::Files.folder_of(Tsumugi::Native.source_location.to_s)
end
