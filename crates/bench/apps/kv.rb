# What the suite kv asks of stores in process: each request does many operations, so that they are measured and not the request.
# `get "/memory/get?n=10000"` answers how many it did and how long they took, in seconds. Keys and values have eight bytes.
plugin(:memory) { KV.open "memory:bench" }
plugin(:disk) { KV.open ENV["KV_PATH"] || "data/bench-kv" }

KEYS = (0...10_000).map { |i| i.to_s.rjust(8, "0") }.freeze
RECORDS = KEYS.map { |key| [key, key] }.to_h.freeze

helpers do
  def times
    n = query.int(:n, 10_000, in: 1..1_000_000)
    begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield n
    { n: n, seconds: Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun }
  end
end

# The same loop without a store, to be taken away from the others.
get "/loop" do
  times do |n|
    i = 0
    while i < n
      KEYS[i % 10_000]
      i += 1
    end
  end
end

%w[memory disk].each do |name|
  scope "/#{name}" do
    post("fill") { { stored: __send__(name).set_multi(RECORDS) } }

    get "get" do
      store = __send__(name)
      times do |n|
        i = 0
        while i < n
          store.get(KEYS[i % 10_000])
          i += 1
        end
      end
    end

    get "set" do
      store = __send__(name)
      times do |n|
        i = 0
        while i < n
          key = KEYS[i % 10_000]
          store.set(key, key)
          i += 1
        end
      end
    end

    # Sets by 64 fibres at once, as requests make them.
    get "set64" do
      store = __send__(name)
      times do |n|
        each = n / 64
        parallel(*(0...64).map { |fibre| -> {
          i = 0
          while i < each
            key = KEYS[(fibre * 97 + i) % 10_000]
            store.set(key, key)
            i += 1
          end
        } })
      end
    end
  end
end
