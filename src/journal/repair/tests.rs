use super::*;
use crate::journal::testing::TS;
