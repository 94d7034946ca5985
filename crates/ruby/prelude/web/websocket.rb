# WebSockets: a handler that answers with `websocket { |socket| … }` grants one, and the block talks over it as if it blocked.
# Not the frames, which are Rust's. Rule: what may refuse the client stands before `websocket`; in its block it is too late for a status.
module Tsumugi
  class Context
    # Grants the client's wish for a WebSocket and runs the block with it. `protocols:` are the subprotocols that are spoken, in the order of preference.
    # Pages of other hosts get 403 unless `origins: ["https://partner.example"]` names theirs or `origins: :any` lets all in. A request that wishes for no
    # WebSocket is answered 426. When the block has ended the WebSocket is closed: with 1000, or with 1011 after an error.
    def websocket(protocols: [], origins: [], &block)
      raise ArgumentError, "websocket needs a block" unless block
      raise ArgumentError, "websocket takes an Array as protocols:, not #{protocols.class}" unless protocols.is_a?(Array)
      raise ArgumentError, "websocket takes an Array or :any as origins:, not #{origins.inspect}" unless origins.is_a?(Array) || origins == :any

      Native.websocket(self, protocols, origins, Task.new { |socket| socket.__run(block) })
    end
  end

  # The application's end of a WebSocket.
  class WebSocket
    include Enumerable

    # What is raised about one.
    class Error < IOError; end
    # Nothing can be sent any more: the client closed or has gone, or the server leaves.
    class Closed < Error; end
    # A message broke a rule or found no room, which ends the WebSocket.
    class Broken < Error; end

    def initialize(conversation)
      @conversation = conversation
    end

    # The next message, a String; nil when the client has closed or gone, or the server leaves. Parks until then. One fibre at a time.
    def receive
      message, @binary = Native.socket_receive(@conversation)
      message
    end

    # Whether the last message that was received is bytes and not text.
    def binary? = @binary ? true : false

    # Runs the block for each message until the end.
    def each
      while (message = receive)
        yield message
      end
      self
    end

    # Sends text, anything else than a String as JSON; parks while the client is slow. Raises Closed once it is over.
    def send(message)
      message = JSON.generate(message) unless message.is_a?(String)
      Native.socket_send(@conversation, message)
      self
    end
    alias << send

    # Sends bytes.
    def send_bytes(bytes)
      Native.socket_send_bytes(@conversation, bytes)
      self
    end

    # Ends it for a reason, after what was sent before: `close 4000, "why"`. Codes are 1000 to 1003, 1007 to 1014 and 3000 to 4999.
    def close(code = 1000, reason = "")
      Native.socket_close(@conversation, code, reason)
      nil
    end

    # The code with which the client closed; nil when it has not.
    def close_code = Native.socket_closed(@conversation)&.first

    # Its words for that.
    def close_reason = Native.socket_closed(@conversation)&.last

    # The subprotocol that both speak.
    def protocol = Native.socket_protocol(@conversation)

    # Runs the block meanwhile, in a fibre of its own, until it ends or the WebSocket does: it is cancelled then. An error in it ends the WebSocket.
    def meanwhile(&block)
      raise ArgumentError, "meanwhile needs a block" unless block

      Native.socket_beside(@conversation, Task.new(&block))
      self
    end

    # Sends what is published on a channel, from now on, while the rest of the block goes on: `socket.forward channel("chat", cluster: true)`. Of a
    # channel that keeps its messages those after the number +after+ come first. With a block its answer is sent, for nil nothing. A slow client makes
    # its messages wait, and when too many do, `missed:` is called.
    def forward(channel, after: nil, missed: nil, &block)
      raise ArgumentError, "forward takes a channel, not #{channel.class}" unless channel.is_a?(MessageChannel)
      raise ArgumentError, "forward takes after: with a channel that keeps its messages" if after && !channel.is_a?(KeptChannel)

      subscription = channel.__open(after)
      begin
        meanwhile do
          channel.__each(subscription, missed) do |text, number|
            text = block.call(text, number) if block
            send(text) unless text.nil?
          end
        end
      rescue Exception => e
        channel.__leave(subscription)
        raise e
      end
    end

    def inspect = "#<#{self.class}>"
    alias to_s inspect

    # The runtime's side: the block of a handler.
    def __run(block)
      block.call(self)
    rescue Halt
      raise RuntimeError, "halt in the block of websocket comes too late: refuse before it, or close(code, reason)"
    end
  end
end
