//! [`Growth`]: watches the tree of a page grow. Keeps: a page made to take all
//! time or memory is told before it has.

use scraper::Html;

use crate::error::{Error, ErrorKind, Result};

/// How deep elements may be nested. Pages made by people stay under 100 and
/// browsers lay out about 500; the standard's algorithm looks through all open
/// elements at many tags, so its time grows with the square of the depth.
const MAX_DEPTH: usize = 1000;
/// Bytes of a page that make a node: `<b>` is the shortest tag. A page with
/// unclosed tags can make many nodes of each later tag.
const BYTES_A_NODE: usize = 2;
/// Nodes that any page may have.
const FREE_NODES: usize = 10_000;

/// Watches a tree grow.
pub(super) struct Growth {
    most: usize,
    seen: usize,
}

impl Growth {
    pub(super) fn new(length: usize) -> Self {
        Growth {
            most: FREE_NODES + length / BYTES_A_NODE,
            seen: 0,
        }
    }

    /// Looks at the nodes that are new, if so many are.
    pub(super) fn look(&mut self, html: &Html, least: usize) -> Result<()> {
        let nodes = html.tree.nodes();
        let count = nodes.len();
        if count > self.most {
            return Err(too("unclosed tags make too many elements of it"));
        }
        let new = count - self.seen;
        if new < least {
            return Ok(());
        }
        self.seen = count;
        // A node mostly follows its parent or a sibling, so that its depth is
        // known from the node before.
        let mut before = None;
        for node in html
            .tree
            .nodes()
            .rev()
            .take(new)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            let parent = node.parent().map(|parent| parent.id());
            let depth = match before {
                Some((id, _, depth)) if parent == Some(id) => depth + 1,
                Some((_, of, depth)) if parent == of => depth,
                _ => node.ancestors().take(MAX_DEPTH + 1).count(),
            };
            if depth > MAX_DEPTH {
                return Err(too("its elements are nested too deeply"));
            }
            before = Some((node.id(), parent, depth));
        }
        Ok(())
    }
}

/// Why a page is not read on.
pub(super) fn too(what: &str) -> Error {
    Error::new(ErrorKind::Extract).with_message(format!("the page cannot be selected from: {what}"))
}
