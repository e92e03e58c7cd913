//! [`Depot`]: chunks of queued requests, in memory or put away elsewhere.
//! Keeps: a chunk is in one place, and its number is not given to another
//! before whoever writes it is done with it.

use std::sync::Arc;

use super::schedule::LaneId;

/// The number of a chunk. Numbers are used again.
pub type ChunkId = u32;

/// The most bytes that a chunk can hold. Little is in memory of a lane beyond the
/// chunk that is being read and the one being filled, and there may be
/// thousands of lanes.
pub const CHUNK_BYTES: usize = 1018;

#[derive(Debug)]
enum Place {
    Free,
    Memory(Arc<[u8]>),
    /// Given out to be written; not gone yet.
    Leaving(Arc<[u8]>),
    /// Was taken while it was being written.
    Taken,
    Away,
    /// Away, and asked for.
    Asked,
}

/// All chunks there are.
#[derive(Debug)]
pub(super) struct Depot {
    /// The most bytes of a chunk.
    chunk: usize,
    places: Vec<Place>,
    free: Vec<ChunkId>,
    /// Bytes in memory.
    resident: usize,
    /// How many bytes may be in memory before others are put away; `None` for
    /// any number.
    budget: Option<usize>,
    outgoing: Vec<(ChunkId, Arc<[u8]>)>,
    wanted: Vec<(ChunkId, LaneId)>,
    /// Chunks that were asked for, with the lanes that do, and not given yet.
    asked: Vec<(ChunkId, LaneId)>,
}

impl Depot {
    pub(super) fn new(chunk: usize, budget: Option<usize>) -> Self {
        Depot {
            chunk: chunk.min(CHUNK_BYTES),
            places: Vec::new(),
            free: Vec::new(),
            resident: 0,
            budget,
            outgoing: Vec::new(),
            wanted: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// The most bytes of a chunk.
    pub(super) fn chunk_bytes(&self) -> usize {
        self.chunk
    }

    /// Takes a chunk in.
    pub(super) fn put(&mut self, bytes: Arc<[u8]>) -> ChunkId {
        self.resident += bytes.len();
        let place = Place::Memory(bytes);
        if let Some(id) = self.free.pop() {
            self.places[id as usize] = place;
            return id;
        }
        self.places.push(place);
        (self.places.len() - 1) as ChunkId
    }

    /// Says of a chunk that it will not be needed soon: it is given out to be
    /// put away, if there is a place and much is in memory.
    pub(super) fn spare(&mut self, id: ChunkId) {
        if self.budget.is_none_or(|budget| self.resident <= budget) {
            return;
        }
        let place = &mut self.places[id as usize];
        if let Place::Memory(bytes) = place {
            let bytes = Arc::clone(bytes);
            self.outgoing.push((id, Arc::clone(&bytes)));
            *place = Place::Leaving(bytes);
        }
    }

    /// The chunks to be put away since this was last asked.
    pub(super) fn take_outgoing(&mut self) -> Vec<(ChunkId, Arc<[u8]>)> {
        std::mem::take(&mut self.outgoing)
    }

    /// Says that a chunk was put away.
    pub(super) fn stored(&mut self, id: ChunkId) {
        let place = &mut self.places[id as usize];
        match place {
            Place::Leaving(bytes) => {
                self.resident -= bytes.len();
                *place = Place::Away;
            }
            Place::Taken => self.release(id),
            _ => {}
        }
    }

    /// Says that a chunk could not be put away: it stays, and so do all others.
    pub(super) fn keep(&mut self, id: ChunkId) {
        self.budget = None;
        let place = &mut self.places[id as usize];
        match std::mem::replace(place, Place::Free) {
            Place::Leaving(bytes) => *place = Place::Memory(bytes),
            Place::Taken => self.release(id),
            elsewhere => *place = elsewhere,
        }
    }

    /// Takes a chunk out, if it is in memory. Otherwise it is asked for, on
    /// behalf of a lane.
    pub(super) fn take(&mut self, id: ChunkId, lane: LaneId) -> Option<Arc<[u8]>> {
        let place = &mut self.places[id as usize];
        match std::mem::replace(place, Place::Taken) {
            Place::Memory(bytes) => {
                self.resident -= bytes.len();
                self.release(id);
                Some(bytes)
            }
            Place::Leaving(bytes) => {
                self.resident -= bytes.len();
                Some(bytes)
            }
            elsewhere => {
                *place = elsewhere;
                self.want(id, lane);
                None
            }
        }
    }

    /// Asks for a chunk that is away.
    pub(super) fn want(&mut self, id: ChunkId, lane: LaneId) {
        let place = &mut self.places[id as usize];
        if matches!(place, Place::Away) {
            *place = Place::Asked;
            self.wanted.push((id, lane));
        }
    }

    /// Whether chunks are asked for that nobody was told of.
    pub(super) fn is_wanting(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Whether chunks were asked for and have not come.
    pub(super) fn is_waiting(&self) -> bool {
        !self.wanted.is_empty() || !self.asked.is_empty()
    }

    /// The chunks that are asked for since this was last asked.
    pub(super) fn take_wanted(&mut self) -> Vec<ChunkId> {
        let ids = self.wanted.iter().map(|(id, _)| *id).collect();
        self.asked.append(&mut self.wanted);
        ids
    }

    /// Takes in a chunk that was asked for, and says which lane did.
    pub(super) fn loaded(&mut self, id: ChunkId, bytes: Arc<[u8]>) -> Option<LaneId> {
        let at = self.asked.iter().position(|(asked, _)| *asked == id)?;
        let (_, lane) = self.asked.swap_remove(at);
        self.resident += bytes.len();
        self.places[id as usize] = Place::Memory(bytes);
        Some(lane)
    }

    /// The bytes of a chunk in memory.
    pub(super) fn peek(&self, id: ChunkId) -> Option<&Arc<[u8]>> {
        match &self.places[id as usize] {
            Place::Memory(bytes) | Place::Leaving(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn release(&mut self, id: ChunkId) {
        self.places[id as usize] = Place::Free;
        self.free.push(id);
    }
}
