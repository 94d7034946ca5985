//! mruby
