//! The text of a structured output: made by the same transcript as `swarm agent logs`, as far as
//! the output has grown, in a file without a name that goes when it is forgotten.
//!
//! Invariant: the text is never changed, only continued.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::BLOCK;
use crate::agents::transcript::Transcript;

/// See the module.
pub(super) struct Rendering {
    transcript: Transcript,
    /// Bytes of the output that were read.
    read: u64,
    is_finished: bool,
    text: File,
    len: u64,
}

impl Rendering {
    /// An empty text, stored on the disk of `dir`.
    pub(super) fn new(dir: &Path, transcript: Transcript) -> io::Result<Self> {
        Ok(Self {
            transcript,
            read: 0,
            is_finished: false,
            text: tempfile::tempfile_in(dir)?,
            len: 0,
        })
    }

    /// Continues the text with what the output has more; `is_over`: it will not grow again.
    pub(super) fn advance(&mut self, output: &File, is_over: bool) -> io::Result<()> {
        let mut raw = vec![0; usize::try_from(BLOCK).unwrap_or(usize::MAX)];
        let mut text = Vec::new();
        loop {
            let count = output.read_at(&mut raw, self.read)?;
            if count == 0 {
                break;
            }
            self.read += count as u64;
            self.transcript.push(&raw[..count], &mut text);
            self.write(&mut text)?;
        }
        if is_over && !self.is_finished {
            self.is_finished = true;
            self.transcript.finish(&mut text);
            self.write(&mut text)?;
        }
        Ok(())
    }

    fn write(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        self.text.write_all(text)?;
        self.len += text.len() as u64;
        text.clear();
        Ok(())
    }

    /// The text's file.
    pub(super) fn text(&self) -> io::Result<File> {
        self.text.try_clone()
    }

    /// The text's length in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }
}
