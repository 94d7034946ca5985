# How mruby is built for Tsumugi: one static library, no blocking gems, exact numbers, an instruction hook.
# Read by minirake (see build.rs). The defines are read from defines.txt, which the C shim is compiled with too:
# the two must agree, or struct layouts differ.
defines = File.readlines(File.join(__dir__, "defines.txt"), chomp: true).grep_v(/\A(#|\z)/)
# No path of the machine that builds comes into what is built.
prefixes = { MRUBY_ROOT => "mruby", ENV["MRUBY_BUILD_DIR"] => "mruby-build" }.map { |path, name| "-ffile-prefix-map=#{path}=#{name}" }

# The compiler of Ruby, which translates 23 short files, is itself compiled in the least time.
level = ENV.fetch("OPT_LEVEL") == "1" ? 1 : 3
level_of_mrbc = 0

compile = lambda do |conf, level|
  conf.toolchain :gcc
  conf.cc.flags = %W[-std=gnu99 -O#{level} -g1 -fPIC -fno-semantic-interposition -fvisibility=hidden -fno-strict-aliasing -w] + prefixes
  conf.cc.defines.concat(defines)
end

library = lambda do |conf|
  # Left out on purpose, because they block a worker or end the process: io, socket, dir, sleep, exit.
  %w[
    compar-ext enum-ext string-ext numeric-ext array-ext hash-ext range-ext proc-ext symbol-ext object-ext
    kernel-ext class-ext toplevel-ext objectspace fiber enumerator enum-lazy enum-chain set struct data time
    sprintf pack random rational math bigint metaprog method error catch eval binding proc-binding compiler
  ].each { |gem| conf.gem core: "mruby-#{gem}" }
end

if (compiler = ENV["TSUMUGI_TARGET_CC"])
  # The compiler of Ruby runs on this machine. What it makes is the same for every target of 64 bits.
  MRuby::Build.new do |conf|
    compile.(conf, level_of_mrbc)
    conf.build_mrbc_exec
    conf.disable_libmruby
    conf.disable_presym
  end
  MRuby::CrossBuild.new("target") do |conf|
    compile.(conf, level)
    conf.cc.command = compiler
    conf.archiver.command = ENV.fetch("TSUMUGI_TARGET_AR")
    library.(conf)
  end
else
  build = MRuby::Build.new do |conf|
    compile.(conf, level)
    library.(conf)
  end
  compile.(build.mrbc_build, level_of_mrbc)
end
