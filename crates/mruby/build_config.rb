# How mruby is built for Tsumugi: one static library, no blocking gems, exact numbers, an instruction hook.
# Read by minirake (see build.rs). The defines are read from defines.txt, which the C shim is compiled with too:
# the two must agree, or struct layouts differ.
MRuby::Build.new do |conf|
  conf.toolchain :gcc
  conf.cc.flags = %w[-std=gnu99 -O3 -g1 -fPIC -fno-semantic-interposition -fvisibility=hidden -fno-strict-aliasing -w]
  conf.cc.defines.concat(File.readlines(File.join(__dir__, "defines.txt"), chomp: true).grep_v(/\A(#|\z)/))

  # Left out on purpose, because they block a worker or end the process: io, socket, dir, sleep, exit.
  %w[
    compar-ext enum-ext string-ext numeric-ext array-ext hash-ext range-ext proc-ext symbol-ext object-ext
    kernel-ext class-ext toplevel-ext objectspace fiber enumerator enum-lazy enum-chain set struct data time
    sprintf pack random rational math bigint metaprog method error catch eval binding proc-binding compiler
  ].each { |gem| conf.gem core: "mruby-#{gem}" }
end
