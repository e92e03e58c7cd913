//! [`Item`] and [`Items`]: what rules make of a page.

use std::ops::Deref;

use log::warn;

use super::body::extract;
use super::{Context, FromContext, Html, StateMap};
use crate::error::Result;
use crate::select::{Item, RuleSet};
use crate::uri;

/// The items of the page, by the [`RuleSet`] that the crawl was given: in the
/// order of the rules, those of each in the order of the page. What could not
/// be read of them is logged as a warning.
///
/// ```
/// use canter::extract::{Emit, Item, Items};
/// use canter::fetch::MockSite;
/// use canter::select::{Field, Kind, RuleSet, Rules};
/// use canter::{Crawler, Result};
///
/// let lamps = Rules::new("lamp")
///     .select("li")?
///     .field(Field::new("name").select("b")?.required())?
///     .field(Field::new("price").select("i")?.kind(Kind::Number))?;
/// let site = MockSite::new().page("http://a.test/", |page| {
///     page.html("<ul><li><b>Heron</b> <i>£1,299.00</i><li><b>Wren</b> <i>£49</i></ul>")
/// });
/// let stats = Crawler::builder()
///     .seed("http://a.test/")
///     .fetcher(site)
///     .share(RuleSet::new([lamps]))
///     .handler(|items: Items, emit: Emit<Item>| -> Result<()> {
///         items.iter().try_for_each(|item| emit.push(item))
///     })
///     .build()?
///     .run()?;
/// assert_eq!(stats.records, 2);
/// # Ok::<(), canter::Error>(())
/// ```
///
/// # Errors
/// As [`Html`]; [`ErrorKind::Extract`](crate::ErrorKind::Extract) for a page
/// that is made to take all time or memory;
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), before any request, when
/// the crawl was given no [`RuleSet`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Items(Vec<Item>);

impl Deref for Items {
    type Target = [Item];

    fn deref(&self) -> &[Item] {
        &self.0
    }
}

impl IntoIterator for Items {
    type Item = Item;
    type IntoIter = std::vec::IntoIter<Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Items {
    type Item = &'a Item;
    type IntoIter = std::slice::Iter<'a, Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl FromContext for Items {
    fn from_context(cx: &Context) -> Result<Self> {
        let rules = cx.services().state().get::<RuleSet>()?;
        let page = cx.extract::<Html>()?;
        let mut items = Vec::new();
        let mut of_page = rules.of(page.url()).peekable();
        if of_page.peek().is_none() {
            return Ok(Items(items));
        }
        let dom = page.dom().map_err(|error| cx.locate(error))?;
        for rules in of_page {
            let extracted = rules.extract(&dom);
            for fault in extracted.faults {
                warn!("{}: {fault}", uri::without_credentials(page.url()));
            }
            items.extend(extracted.items);
        }
        Ok(Items(items))
    }

    fn check(state: &StateMap) -> Result<()> {
        state.get::<RuleSet>().map(drop)
    }
}

/// The first of the page's [`Items`].
///
/// # Errors
/// As [`Items`], and [`ErrorKind::Extract`](crate::ErrorKind::Extract) when
/// there is none.
impl FromContext for Item {
    fn from_context(cx: &Context) -> Result<Self> {
        let items = cx.extract::<Items>()?;
        items
            .into_iter()
            .next()
            .ok_or_else(|| cx.locate(extract("there is no item on the page")))
    }

    fn check(state: &StateMap) -> Result<()> {
        Items::check(state)
    }
}
