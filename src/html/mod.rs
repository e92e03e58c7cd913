//! Pages as browsers read them: links, what a page says about itself, and the
//! text that a reader sees.
//!
//! One pass over the text, by the WHATWG tokenizer of `html5gum` and as much of
//! the standard's tree construction as makes a difference. There is no invalid
//! page, time is in proportion to length, and memory to what is gathered.

mod collect;
mod directives;
mod emitter;
mod json_ld;
mod links;
mod open;
mod page;
mod source;
mod stack;
mod tag;
mod text;
mod tree;

#[cfg(test)]
mod tests;

pub use directives::{RobotsDirectives, robots_directives};
pub use links::{Link, LinkKind};
pub use page::{Page, PageOptions, page_links, visible_text};
