//! The part of the queue that is not in memory. The engine gives chunks of it
//! out, asks for them in time, and takes them back; it knows nothing of where
//! they are. Keeps: what is put away is queued as much as the rest.

use std::sync::Arc;
use std::time::Instant;

use super::engine::Engine;
use crate::frontier::ChunkId;

impl Engine {
    /// Chunks of the queue to be put away. Of each it is to be
    /// [said](Self::put_away) what came of that.
    pub fn take_outgoing(&mut self) -> Vec<(ChunkId, Arc<[u8]>)> {
        self.schedule.take_outgoing()
    }

    /// Says whether chunks were put away. If not they stay in memory, and so does
    /// all that comes.
    pub fn put_away(&mut self, chunks: Vec<ChunkId>, stored: bool) {
        for chunk in chunks {
            if stored {
                self.schedule.stored(chunk);
            } else {
                self.schedule.keep(chunk);
            }
        }
    }

    /// The chunks that are needed since this was last asked.
    /// [`poll`](Self::poll) names them as well.
    pub fn take_wanted(&mut self) -> Vec<ChunkId> {
        self.schedule.take_wanted()
    }

    /// Takes a chunk back that was asked for, byte for byte
    /// as it was given out.
    pub fn loaded(&mut self, chunk: ChunkId, bytes: Arc<[u8]>, now: Instant) {
        let Some(lane) = self.schedule.loaded(chunk, bytes) else {
            return;
        };
        if !self.schedule.has_lane(lane) {
            return;
        }
        let (host, tag) = {
            let lane = self.schedule.lane(lane);
            (lane.host, lane.tag)
        };
        if self.tags.is_aborted(tag) {
            let mut drained = Vec::new();
            self.schedule.drain(lane, &mut drained);
            self.skip_aborted(tag, drained, now);
        }
        self.place(host, now);
    }
}
