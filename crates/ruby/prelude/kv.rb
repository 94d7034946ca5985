# Key-value stores: `KV.open`. A store of this process is one for all its workers; another server's is reached through its service.
# Keys are Strings or Symbols (which stand for their names), values are Strings. Reads of a store of this process never park a
# fibre, nor do writes to one in memory; everything else does, and other requests run meanwhile.
class KV
  # Any error of a store.
  class Error < StandardError; end
  %i[InvalidKey ValueTooLong NotANumber LimitExceeded UsageError Unsupported Full QueueFull DiskFull Broken Locked Conflict Closed
     ConnectionLost Timeout Refused Contended].each { |name| const_set(name, Class.new(Error)) }

  MISS = :"tsumugi.miss"

  # `KV.open "data/cache"` is on disk, in that folder; `KV.open "memory:sessions", capacity: "64m", when_full: :evict` in memory, for
  # all workers under that name. Settings: `durability:` (:process, :disk), `capacity:`, `when_full:` (:refuse, :evict), `cache:`,
  # `value_max:`. With `ttl:` what this object stores by `set`, `[]=`, `set_multi`, `cas`, `cas_multi` and `fetch` lives so many seconds
  # unless the call says otherwise. `incr`, `append` and `push` take no `ttl:`: what they add to lives as long as before, and what
  # they begin lives for ever.
  #
  # `KV.open "tkrzw://host:1978/0"` (or `tkrzw+tls://…`, `tkrzw+unix:/path`) asks another server, with `index:`, `token:`, `timeout:` in
  # seconds for a call, and `ca:`, the file of certificates that are trusted.
  def self.open(place = ":memory:", ttl: nil, **settings)
    Tsumugi::Native.kv_open(place, ttl, settings)
  end

  # True when it was stored; false when it was there already and `overwrite: false`.
  def set(key, value, **options) = Tsumugi::Native.kv_set(self, key, value, options)

  def []=(key, value)
    set(key, value)
  end

  # True when it was there.
  def delete(key) = Tsumugi::Native.kv_delete(self, key)

  # Adds to the end of a value, after +delimiter+ when there is one already.
  def append(key, value, delimiter = nil) = Tsumugi::Native.kv_append(self, key, value, delimiter)

  # The number after +by+ was added to it, or to `initial:` when there was none. `number` reads it: it is kept as eight bytes.
  def incr(key, by = 1, **options) = Tsumugi::Native.kv_incr(self, key, by, options)

  # Changes a record if it is as expected, and says whether it was. `nil` is no record, `:any` one with whatever value; a desired
  # `nil` removes, `:keep` only looks.
  def cas(key, expected, desired, **options) = Tsumugi::Native.kv_cas(self, key, expected, desired, options)

  # The same for several records at once, all or none: `kv.cas_multi({ "a" => "1" }, { "a" => nil, "b" => "1" })`.
  def cas_multi(expected, desired = (bare = true), **options)
    if bare
      desired, options = __bare(options)
      raise ArgumentError, "cas_multi takes two Hashes: what is expected and what is desired" if desired.empty?
    end
    __cas_multi(expected, desired, options)
  end

  # Gives a record another key, or with `copy: true` a second one. False when there is none, or `overwrite: false` and the new key
  # has one.
  def rekey(old, new, **options) = Tsumugi::Native.kv_rekey(self, old, new, options)

  # Removes every record.
  def clear = Tsumugi::Native.kv_clear(self)

  # The records that are there, as a Hash: `kv.get_multi("a", "b")`.
  def get_multi(*keys) = Tsumugi::Native.kv_get_multi(self, *keys)

  # Stores each record on its own; how many were stored: `kv.set_multi({ "a" => "1", "b" => "2" }, ttl: 60)`.
  def set_multi(records = (bare = true), **options)
    records, options = __bare(options) if bare
    __set_multi(records, options)
  end

  def __set_multi(records, options) = Tsumugi::Native.kv_set_multi(self, records, options)
  def __cas_multi(expected, desired, options) = Tsumugi::Native.kv_cas_multi(self, expected, desired, options)

  # Records and options of a Hash without braces, which comes as keywords: these two Symbols are options, every other key is a record's.
  def __bare(keywords) = keywords.partition { |key, _| key != :ttl && key != :overwrite }.map(&:to_h)

  # Removes each record on its own; how many were there.
  def delete_multi(*keys) = Tsumugi::Native.kv_delete_multi(self, *keys)

  # Another time to live for a record that is there, counted from now; `ttl: nil` is for ever. False when there is none.
  def touch(key, ttl:) = Tsumugi::Native.kv_touch(self, key, { ttl: ttl })

  # Queues by name: `push` stores a value behind all others of the queue and answers its key; `pop` removes the first one and answers its
  # value, or nil; `shift` answers key and value. `wait:` is how many seconds to wait for one. A record is given at most once: it is gone
  # when it is popped, also when the request that popped it is cancelled or fails before it is done. Without a name `push(value)` has
  # the time as its key, and `pop` takes the record with the least key of the whole store.
  def push(*arguments) = Tsumugi::Native.kv_push(self, *arguments)
  def shift(queue = nil, wait: nil) = Tsumugi::Native.kv_shift(self, wait, queue)

  def pop(queue = nil, wait: nil)
    pair = shift(queue, wait: wait)
    pair && pair[1]
  end

  # Records in the order of their keys, fetched as they are used: `kv.scan(prefix: "user:") { |key, value| … }`, and without a block what
  # `each` and the like are called of. +from+ and +to+ belong to it. What is written meanwhile may be met or not; what is there all the time is met
  # once.
  def scan(prefix: nil, from: nil, to: nil, reverse: false, limit: nil, &block)
    scan = Scan.new(self, [prefix, from, to, reverse], limit)
    block ? scan.each(&block) : scan
  end

  # Keys that fit, at most +limit+: `mode:` is :contain, :begin, :end, :regex, :edit (the nearest first), :containcase, :containword, …
  def search(pattern, mode: :contain, limit: nil) = Tsumugi::Native.kv_search(self, pattern, mode, limit)

  # The value of +key+; when there is none, the block's, which is stored for +ttl+ seconds. While one fibre computes, all others of
  # the process that ask for the key wait for its value; when its block raises or halts, nothing is stored and the next one computes.
  # What is no String comes back as JSON has it, with Symbols as keys of Hashes, the first time too.
  #
  # With `cluster: true` one process of all computes, for a store that they share: the others wait for as long as it does, but for 30 seconds at most, by the locks of
  # `cluster`.
  def fetch(key, ttl: :default, cluster: false, &block)
    raise ArgumentError, "fetch needs a block that computes the value" unless block

    value = __cached(key)
    return value unless value == MISS

    value = Tsumugi::Native.kv_join(self, key)
    return value unless value.is_a?(Lead)

    begin
      return Tsumugi::Native.kv_land(value, block.call, ttl) unless cluster

      Tsumugi.__compute(self, key.to_s) do
        found = __cached(key)
        found == MISS ? Tsumugi::Native.kv_land(value, block.call, ttl) : found
      end
    ensure
      Tsumugi::Native.kv_give_up(value)
    end
  end

  # Runs the block for each change of a key that begins with +prefix+, until it is left: `change.key`, `change.kind` (:put, :removed,
  # :expired, :evicted; :cleared, and where changes were lost :lagged and :gap, have no key: read again what matters). `ready:` is called
  # once changes are heard, to read what is there.
  def watch(prefix = "", ready: nil)
    raise ArgumentError, "watch needs a block" unless block_given?

    watch = Tsumugi::Native.kv_watch(self, prefix)
    begin
      ready.call if ready
      yield Change.new(*Tsumugi::Native.kv_changed(watch)) while true
    ensure
      Tsumugi::Native.kv_unwatch(watch)
    end
  end

  # A change that `watch` reports. +lost+ is the number of changes that were dropped, with :lagged.
  class Change
    attr_reader :kind, :key, :lost

    def initialize(kind, key, lost)
      @kind = kind
      @key = key
      @lost = lost
    end
  end

  # Sends a String to whoever subscribes to the channel at this moment, in all processes. Stores in Redis have channels.
  def publish(channel, message)
    Tsumugi::Native.kv_publish(self, channel, message)
    nil
  end

  # Runs the block for each message of the channel that is published from now on, until it is left. When some may have been missed, because the
  # connection was lost or more came than may wait, `missed:` is called once messages come again: read again what they are about.
  def subscribe(channel, missed: nil)
    raise ArgumentError, "subscribe needs a block" unless block_given?

    subscription = Tsumugi::Native.kv_subscribe(self, channel)
    begin
      while true
        message = Tsumugi::Native.kv_message(subscription)
        if message
          yield message
        elsif missed
          missed.call
        else
          log.warn "messages may have been missed", channel: channel.to_s
        end
      end
    ensure
      Tsumugi::Native.kv_unsubscribe(subscription)
    end
  end

  # Waits until the disk has confirmed all that was written before, whatever the durability.
  def sync = Tsumugi::Native.kv_sync(self)

  # Writes the records of this moment to a folder that does not exist yet; reads and writes go on. `KV.open` of it restores them.
  def backup(folder) = Tsumugi::Native.kv_backup(self, folder)

  # What the store says of itself, as a Hash.
  def info = Tsumugi::Native.kv_info(self)

  def inspect = "#<#{self.class} #{Tsumugi::Native.kv_name(self)}>"
  alias to_s inspect

  def __page(*range) = Tsumugi::Native.kv_page(self, *range)

  # A store in memory answers at once, by methods of the same names that are written in Rust.
  class Memory
    def shift(queue = nil, wait: nil) = wait ? super(queue, wait: wait) : __shift(queue)
  end

  # A store on disk. Its count is known at once, but while records have expired that were not removed yet.
  class Disk
    def count = __known_count || Tsumugi::Native.kv_count(self)
    alias size count
    alias length count
  end

  # A store of another server. What its engine cannot promise raises `KV::Unsupported` before anything is sent.
  class Remote
    def get(key) = Tsumugi::Native.kv_get(self, key)
    alias [] get
    def key?(key) = !get(key).nil?
    alias has_key? key?
    alias include? key?
    alias member? key?
    def number(key) = Tsumugi::Native.kv_number(self, key)

    # Seconds that a record is still there: Infinity for ever, nil when there is none.
    def ttl(key) = Tsumugi::Native.kv_ttl(self, key)
    def count = Tsumugi::Native.kv_count(self)
    alias size count
    alias length count

    def fetch(key, ttl: :default, cluster: false, &block)
      Tsumugi::Native.kv_check_ttl(self) if ttl && ttl != :default
      # By themselves: a `super` without arguments leaves keywords out.
      super(key, ttl: ttl, cluster: cluster, &block)
    end

    def __cached(key) = Tsumugi::Native.kv_cached(self, key)
  end

  # Records on their way.
  class Scan
    include Enumerable

    def initialize(store, range, limit)
      raise ArgumentError, "limit: is an Integer from 0" unless limit.nil? || (limit.is_a?(Integer) && limit >= 0)

      @store = store
      @range = range
      @limit = limit
    end

    def each
      return to_enum(:each) unless block_given?

      left = @limit
      last = nil
      while left.nil? || left > 0
        page = @store.__page(*@range, last, left)
        break if page.empty?

        left -= page.size if left
        last = page[-1][0]
        page.each { |pair| yield pair }
      end
      self
    end

    def keys = map { |key, _| key }
    def values = map { |_, value| value }
    def inspect = "#<KV::Scan of #{@store.inspect}>"
  end
end
