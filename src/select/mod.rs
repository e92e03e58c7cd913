//! What a page's elements say: CSS selectors, and rules that make items of
//! pages. Needs the feature `select`.
//!
//! A [`Dom`] is a page as a tree of [`Element`]s, to be asked by hand.
//! [`Rules`] say once and for all what to read: which pages, which elements
//! are items, and which [`Field`]s an item has. They are what a configuration's
//! `[extract.NAME]` is made into; in a handler they are reached through
//! [`Item`] and [`Items`](crate::extract::Items).
//!
//! A page is read as browsers read it with scripting off. One that is nested
//! or grown beyond all reason is not read at all: no page can take more than
//! its share of time and memory.
//!
//! ```
//! use canter::Url;
//! use canter::select::{Dom, Field, Kind, Rules};
//!
//! let rules = Rules::new("lamp")
//!     .paths(["/lamps/*"])?
//!     .select("article")?
//!     .field(Field::new("name").select("h2")?.required())?
//!     .field(Field::new("price").select(".price")?.kind(Kind::Number))?
//!     .field(Field::new("image").select("img")?.kind(Kind::Url))?;
//!
//! let url = Url::parse("http://a.test/lamps/1").unwrap();
//! let html = "<article><h2>Heron</h2><img src=/h.png><p class=price>1.299,00 €</article>";
//! let dom = Dom::parse(html, &url, encoding_rs::UTF_8)?;
//! assert!(rules.apply_to(&url));
//! let extracted = rules.extract(&dom);
//! let lamp = &extracted.items[0];
//! assert_eq!(lamp.text("name"), Some("Heron"));
//! assert_eq!(lamp.number("price").unwrap().as_f64(), 1299.0);
//! assert_eq!(lamp.text("image"), Some("http://a.test/h.png"));
//! # Ok::<(), canter::Error>(())
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `tree`, `growth` | a page becomes a tree, within bounds |
//! | `dom`, `text` | the tree; elements; what an element says |
//! | `css` | selectors, and what is wrong with one |
//! | `number`, `digits` | numbers as people write them |
//! | `rules`, `field` | what is read |
//! | `reading`, `raw`, `item` | reading it, and what comes of it |

mod css;
mod digits;
mod dom;
mod field;
mod growth;
mod item;
mod number;
mod raw;
mod reading;
mod rules;
mod text;
mod tree;

pub(crate) use css::check as check_selector;
pub use dom::{Dom, Element};
pub use field::{Field, Kind};
pub use item::{Item, Value};
pub use number::{Decimal, NoNumber, Number, Pick};
pub use reading::{Extracted, Fault};
pub use rules::{RuleSet, Rules};
