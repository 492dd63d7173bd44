use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// Decompresses all frames of a Zstandard file, one after the other (RFC 8878 §3): the decoder handles only
/// one.
pub(super) struct Frames<R> {
    from: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(from: R) -> Self {
        Frames { from, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Goes to the next frame that has content. False at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.from.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut self.from) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut (&mut self.from).take(length.into()), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// After a frame: compares its checksum.
    fn check(&self) -> io::Result<()> {
        match self.decoder.get_checksum_from_data() {
            Some(sum) if self.decoder.get_calculated_checksum() != Some(sum) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a frame is wrong"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                self.in_frame = self.begin()?;
                if !self.in_frame {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() < into.len() && !self.decoder.is_finished() {
                let wanted = BlockDecodingStrategy::UptoBytes(into.len() - self.decoder.can_collect());
                self.decoder.decode_blocks(&mut self.from, wanted).map_err(io::Error::other)?;
            }
            match self.decoder.read(into)? {
                0 => {
                    self.check()?;
                    self.in_frame = false;
                }
                n => return Ok(n),
            }
        }
    }
}
