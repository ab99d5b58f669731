//! Tests of the actions on a router.
