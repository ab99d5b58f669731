//! See the architecture in `lib.rs`.
