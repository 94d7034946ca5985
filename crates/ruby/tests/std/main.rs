//! The standard pieces against CRuby: every file of snippets/ prints here what it printed there (its .txt, made by
//! `ruby NAME.rb > NAME.txt` with CRuby 3.1), and what CRuby has not is checked by hand. Needs no ruby.

mod edges;
mod own;
mod rig;
mod signatures;
mod snippets;
mod types;
mod views;
