# hello.rb with mruby's generational collector in place of the incremental one.
GC.generational_mode = true

get("/hello") { "hello\n" }
