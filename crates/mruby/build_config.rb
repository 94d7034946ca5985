# Which parts of mruby Tsumugi has: no blocking gems, exact numbers, an instruction hook. Read by minirake, which generates C files from it
# (build/generate.rs); build.rs compiles these and mruby's own.
# The defines are read from defines.txt, which everything is compiled with: struct layouts depend on them.
defines = File.readlines(File.join(__dir__, "defines.txt"), chomp: true).grep_v(/\A(#|\z)/)

# The compiler of Ruby, which translates 23 short files, is compiled in the least time. Nothing else is compiled here.
compile = lambda do |conf|
  conf.toolchain :gcc
  conf.cc.flags = %w[-std=gnu99 -O0 -fno-strict-aliasing -w]
  conf.cc.defines.concat(defines)
end

build = MRuby::Build.new do |conf|
  compile.(conf)
  # Left out on purpose, because they block a worker or end the process: io, socket, dir, sleep, exit.
  %w[
    compar-ext enum-ext string-ext numeric-ext array-ext hash-ext range-ext proc-ext symbol-ext object-ext
    kernel-ext class-ext toplevel-ext objectspace fiber enumerator enum-lazy enum-chain set struct data time
    sprintf pack random rational math bigint metaprog method error catch eval binding proc-binding compiler
  ].each { |gem| conf.gem core: "mruby-#{gem}" }
end
compile.(build.mrbc_build)
