# What the processes of an application do together: `cluster`, `Tsumugi.lock`, `channel`. `every` with `cluster:` is in application.rb.
# Rule: the block of a lock that is lost ends before another process can get the lock.
module Tsumugi
  # What `Tsumugi.lock` and channels raise.
  module Lock
    # Any error of these, but for those of the database: these are DB::Error.
    class Error < StandardError; end
    # The lock was lost before its block had ended: it could not be renewed in time, or the process was stopped for longer than `ttl:`.
    class Lost < Error; end
    # Another one held the lock for as long as `wait:` says. Nothing was run.
    class Unavailable < Error; end
    class UsageError < Error; end
    class LimitExceeded < Error; end
    class Unsupported < Error; end

    # Ends the block of a lock that was lost. No StandardError, so that `rescue => e` in the block lets it pass.
    class Cut < Exception; end
  end

  class << self
    # The database or the store by which processes find each other; nil while `cluster` has not been said, also mounted in an
    # application in Rust that has a cluster.
    attr_reader :cluster

    # Shares locks, timers and channels with all processes that say the same: those of all machines for PostgreSQL and a store in etcd, those of one
    # machine for a SQLite file; a store in Redis carries channels alone. Without it a cluster is the workers of this process; mounted in an
    # application in Rust it is that application's.
    def cluster=(engine)
      case engine
      when DB then Native.cluster_over(engine.__native)
      when KV then Native.cluster_over_store(engine)
      else raise ArgumentError, "cluster takes what DB.connect or KV.open has opened, not #{engine.class}"
      end
      @cluster = engine
    end

    # Runs the block while no other process of the cluster runs one under the same name, and answers its value. The lock is taken for +ttl+ seconds and
    # renewed meanwhile. The block gets its token, an Integer that is greater than those of all holders before.
    #
    # A lock that is held by another is waited for; +wait+ is for how many seconds at most, after which Lock::Unavailable is raised. When the lock is lost,
    # what the block waits for ends with Lock::Cut, `ensure` runs, and Lock::Lost is raised here.
    def lock(name, ttl: 30, wait: nil, &block)
      raise ArgumentError, "lock needs a block" unless block

      __lock(Native.lock_acquire(name, ttl, wait), &block)
    end

    # Runs the block while no other process computes the value of this key of the store; without that, where another one takes too long.
    def __compute(store, key, &block)
      lock = Native.computation_lock(store, key)
      lock ? __lock(lock, &block) : block.call
    end

    def __lock(lock)
      begin
        value = yield Native.lock_token(lock)
        Native.lock_check(lock)
        value
      rescue Lock::Cut => e
        # It may be that of a lock further out.
        raise e unless Native.lock_lost?(lock)

        raise Lock::Lost, e.message
      ensure
        Native.lock_release(lock)
      end
    end
  end

  # Texts to all who subscribe: `channel("chat")` in the workers of this process, `channel("chat", cluster: true)` in all processes of the cluster.
  class MessageChannel
    attr_reader :name

    def initialize(name, cluster)
      @name = name
      @cluster = cluster
      Native.check_channel(name)
    end

    # Sends a text of at most 7,800 bytes. Who publishes several, one after the other, is heard in that order everywhere. A transaction that is open
    # changes nothing about it: `db.after_commit { chat.publish text }` waits for its end.
    def publish(message)
      Native.channel_publish(@name, @cluster, message)
      nil
    end

    # Runs the block for each text that is published from now on, until it is left. When some may have been missed, because the connection was lost or more
    # came than may wait, `missed:` is called, and read again what they are about.
    def subscribe(missed: nil, &block)
      raise ArgumentError, "subscribe needs a block" unless block

      __each(__open(nil), missed, &block)
    end

    # Begins to listen: nothing that is published from now on is lost to `__each`.
    def __open(_after) = Native.channel_subscribe(@name, @cluster)
    def __leave(subscription) = Native.channel_leave(subscription)

    def __each(subscription, missed)
      while true
        message = Native.channel_next(subscription)
        if message
          yield message
        elsif missed
          missed.call
        else
          log.warn "messages may have been missed", channel: @name
        end
      end
    ensure
      __leave(subscription)
    end

    def inspect = "#<#{self.class} #{@name}#{" of the cluster" if @cluster}>"
    alias to_s inspect
  end

  # A channel that keeps its last messages, each under a number that is one more than that of the message before: `channel("chat", keep: 1_000)`.
  class KeptChannel < MessageChannel
    def initialize(name, cluster, keep)
      @name = name
      @cluster = cluster
      @keep = keep
      Native.check_kept_channel(name, cluster, keep)
    end

    # Keeps a text of at most 7,800 bytes and sends it; answers its number. All who follow see all messages in the order of their numbers.
    def publish(message) = Native.channel_publish_kept(@name, @cluster, @keep, message)

    # The number of the last message, 0 before the first: what a page is followed from that is read after this.
    def last = Native.channel_last(@name, @cluster, @keep)

    # Runs the block for each message after the one with the number +after+, with its text and its number, and then for each that is published, each once
    # and in order, until it is left. Without +after+ it begins with what is published from now on. When messages are not kept any more that are to come,
    # `missed:` is called; one that takes an argument gets the number of the last one that is missing.
    def follow(after: nil, missed: nil, &block)
      raise ArgumentError, "follow needs a block" unless block

      __each(__open(after), missed, &block)
    end

    # The texts that are published from now on.
    def subscribe(missed: nil)
      raise ArgumentError, "subscribe needs a block" unless block_given?

      follow(missed: missed) { |text, _number| yield text }
    end

    def __open(after) = Native.channel_follow(@name, @cluster, @keep, after)
    def __leave(follower) = Native.follower_leave(follower)

    def __each(follower, missed)
      while true
        text, number = Native.follower_next(follower)
        if text
          yield text, number
        elsif missed
          missed.arity == 0 ? missed.call : missed.call(number)
        else
          log.warn "messages are not kept any more", channel: @name
        end
      end
    ensure
      __leave(follower)
    end
  end

  class EventStream
    # Sends the messages of a channel that keeps them, as events whose ids are their numbers: those after the last one that the client has
    # (`Last-Event-ID`, which it sends when it comes back), else after the number +after+, else those that are published from now on. With a block the
    # block sends them. Where messages are gone that the client has not seen, an event called "missed" says so, unless `missed:` is called.
    def follow(channel, after: nil, missed: nil, &block)
      raise ArgumentError, "follow takes a channel(name, keep: count), not #{channel.class}" unless channel.is_a?(KeptChannel)

      after = @last_event_id if @last_event_id
      # A client that has seen nothing yet comes back to here.
      after ||= channel.last
      @out << Native.event_position(after.to_s) unless @last_event_id
      # With an id, so that a client that comes back does not miss them again.
      missed ||= ->(number) { event("messages are missing", event: "missed", id: number) }
      channel.follow(after: after, missed: missed) do |text, number|
        block ? block.call(text, number) : event(text, id: number)
      end
    end
  end
end

module Kernel
  # The channel of this name: see Tsumugi::MessageChannel. With +keep+ its last so many messages are kept: see Tsumugi::KeptChannel.
  def channel(name, cluster: false, keep: nil)
    raise ArgumentError, "channel takes cluster: true or false, not #{cluster.inspect}; `cluster` says with which processes" unless [true, false, nil].include?(cluster)
    return Tsumugi::KeptChannel.new(name.to_s, cluster == true, keep) if keep

    Tsumugi::MessageChannel.new(name.to_s, cluster == true)
  end
end

class << self
  # `cluster db`, `cluster kv`: see `Tsumugi.cluster=`.
  def cluster(engine)
    Tsumugi.cluster = engine
    nil
  end
end
