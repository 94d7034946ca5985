//! What several programs beside ours share. Not part of the product, and nothing of ours is here.
#![forbid(unsafe_code)]

pub mod arena;
