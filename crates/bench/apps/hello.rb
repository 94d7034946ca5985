# What the suites hello, tax and parked ask for.
get("/hello") { "hello\n" }
get("/wait") { sleep 0; "hello\n" }
get("/parked") { sleep 5; "hello\n" }

# Number of the worker and what its VM holds on to.
get "/figures" do
  GC.start
  "#{worker.id} #{Tsumugi.vm_bytes}\n"
end
