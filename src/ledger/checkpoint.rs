//! [`Checkpoint`]: the line that ends what was committed together. Keeps: what
//! a checkpoint does not vouch for is not believed.

use super::format::push_key;
use super::json::{push_hex, push_number};
use super::options::Totals;

/// What a checkpoint says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// Its number; the first of a file is 0, the next of any is one more.
    pub(super) number: u64,
    /// Lengths of records, log, and the outputs beside them.
    pub(super) lengths: Vec<u64>,
    pub(super) totals: Totals,
    /// Checksum of its segment: the bytes from the checkpoint before to its
    /// own [`CRC_KEY`], after the checksum of the checkpoint before.
    pub(super) crc: u32,
}

/// What stands before a checkpoint's checksum.
pub(super) const CRC_KEY: &[u8] = b",\"crc\":\"";
/// What stands after it.
pub(super) const CRC_END: &[u8] = b"\"}\n";
/// What a checkpoint's line begins with.
pub(super) const CHECKPOINT_KEY: &[u8] = b"{\"c\":";

/// The checksum of a segment that follows a checkpoint with checksum `before`
/// (CRC-32 as in RFC 1952 section 8).
pub(super) fn start_crc(before: u32) -> flate2::Crc {
    let mut crc = flate2::Crc::new();
    crc.update(&before.to_le_bytes());
    crc
}

/// Ends a segment with a checkpoint: `crc` has seen all of it but what stands
/// in the buffer. Sets the checkpoint's checksum.
pub(super) fn push_checkpoint(
    buffer: &mut Vec<u8>,
    mut crc: flate2::Crc,
    checkpoint: &mut Checkpoint,
) {
    let totals = checkpoint.totals;
    buffer.extend_from_slice(CHECKPOINT_KEY);
    push_number(buffer, checkpoint.number);
    push_key(buffer, "o");
    buffer.push(b'[');
    for (at, length) in checkpoint.lengths.iter().enumerate() {
        if at > 0 {
            buffer.push(b',');
        }
        push_number(buffer, *length);
    }
    buffer.push(b']');
    push_key(buffer, "t");
    buffer.push(b'[');
    push_number(buffer, totals.requests);
    let elapsed = u64::try_from(totals.elapsed.as_millis()).unwrap_or(u64::MAX);
    for number in [totals.retried, totals.unchanged, totals.bytes, elapsed] {
        buffer.push(b',');
        push_number(buffer, number);
    }
    buffer.push(b']');
    crc.update(buffer);
    checkpoint.crc = crc.sum();
    buffer.extend_from_slice(CRC_KEY);
    push_hex(buffer, &checkpoint.crc.to_be_bytes());
    buffer.extend_from_slice(CRC_END);
}
