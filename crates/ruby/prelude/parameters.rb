# What clients send as names and values, and the exceptions that answer the client. Not the parsing and the checks, which are Rust's.
module Tsumugi
  # A request that cannot be read as it was sent: answered with its status and a text, never logged as an error.
  class Refused < Halt
    attr_reader :status, :message

    def initialize(status, message)
      super(nil)
      @status = status
      @message = message
    end
  end

  # Fields that are missing or of the wrong type: 422 with every one of them.
  class Invalid < Halt
    attr_reader :errors

    def initialize(errors)
      super(nil)
      @errors = errors
    end
  end

  # The parameters of a query string. `query[:q]` is the first value or nil, `query.list(:tag)` all of them. `query.int(:page, 1, in: 1..100)`
  # is an Integer, or the second argument when it is absent or empty; anything else answers 400. So do `float` and `bool`.
  # These are Rust's, as `key?`, `empty?`, `to_a` and `to_h` are.
  class Parameters
    include Enumerable

    def each(&block) = to_a.each(&block)
  end
end
