//! The domain's tests that tell whole stories; those of a single rule are beside it.

mod properties;
