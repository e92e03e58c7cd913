//! [`Disk`]: where a crawl puts away the part of its queue that is not in
//! memory. Writing and reading take a while: other things happen meanwhile.

use std::collections::HashMap;
use std::sync::Arc;

use canter::crawler::Engine;
use canter::frontier::ChunkId;

use super::Instant;

/// One write in so many finds no room.
const FULL_EACH: u32 = 2_000;

pub(crate) struct Disk {
    stored: HashMap<ChunkId, Arc<[u8]>>,
    writing: Vec<(ChunkId, Arc<[u8]>)>,
    reading: Vec<ChunkId>,
    rng: fastrand::Rng,
    /// Chunks that were read.
    pub(crate) reads: u64,
}

impl Disk {
    pub(crate) fn new(seed: u64) -> Self {
        Disk {
            stored: HashMap::new(),
            writing: Vec::new(),
            reading: Vec::new(),
            rng: fastrand::Rng::with_seed(seed),
            reads: 0,
        }
    }

    /// What was put away as a chunk.
    pub(crate) fn stored(&self, id: ChunkId) -> Option<Arc<[u8]>> {
        self.stored.get(&id).cloned()
    }

    /// Goes on with what is to be written.
    pub(crate) fn write(&mut self, engine: &mut Engine) {
        if !self.writing.is_empty() && self.rng.bool() {
            let full = self.rng.u32(..FULL_EACH) == 0;
            let ids = self.writing.iter().map(|(id, _)| *id).collect();
            let written = std::mem::take(&mut self.writing);
            if !full {
                self.stored.extend(written);
            }
            engine.put_away(ids, !full);
        }
        if self.writing.is_empty() && self.rng.bool() {
            self.writing = engine.take_outgoing();
        }
    }

    /// Begins to read; whoever asks next may be faster.
    pub(crate) fn want(&mut self, chunks: Vec<ChunkId>, engine: &mut Engine, now: Instant) {
        self.reading.extend(chunks);
        if self.rng.bool() {
            self.read(engine, now);
        }
    }

    /// Ends reading; whether there was anything.
    pub(crate) fn read(&mut self, engine: &mut Engine, now: Instant) -> bool {
        let any = !self.reading.is_empty();
        for id in std::mem::take(&mut self.reading) {
            self.reads += 1;
            let bytes = self.stored.get(&id);
            let bytes = bytes.unwrap_or_else(|| panic!("«disk» chunk {id} was never stored"));
            engine.loaded(id, Arc::clone(bytes), now);
        }
        any
    }
}
