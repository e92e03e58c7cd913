//! [`Tags`]: numbers for tags, and which of them were given up.

use std::collections::{HashMap, HashSet};

use crate::frontier::TagId;
use crate::request::Tag;

/// The tags that the crawl has met.
#[derive(Debug, Default)]
pub(super) struct Tags {
    names: Vec<Tag>,
    ids: HashMap<Tag, TagId>,
    aborted: HashSet<TagId>,
}

impl Tags {
    pub(super) fn id(&mut self, tag: &Tag) -> TagId {
        if let Some(id) = self.ids.get(tag) {
            return *id;
        }
        let id = self.names.len() as TagId;
        self.names.push(tag.clone());
        self.ids.insert(tag.clone(), id);
        id
    }

    pub(super) fn known(&self, tag: &Tag) -> Option<TagId> {
        self.ids.get(tag).copied()
    }

    pub(super) fn name(&self, id: TagId) -> &Tag {
        &self.names[id as usize]
    }

    pub(super) fn abort(&mut self, id: TagId) {
        self.aborted.insert(id);
    }

    pub(super) fn is_aborted(&self, id: TagId) -> bool {
        self.aborted.contains(&id)
    }

    /// A new run begins: tags that were given up get another chance.
    pub(super) fn new_run(&mut self) {
        self.aborted.clear();
    }
}
