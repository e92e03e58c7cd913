//! Header fields and media types, read leniently.
//!
//! Pure: what the time is comes in as an argument. No function here fails on
//! what a server may send; a value without meaning is `None` or empty.

mod date;
mod media_type;
mod retry_after;
mod sniff;

pub use date::date;
pub(crate) use date::days;
pub use media_type::MediaType;
pub use retry_after::{retry_after, retry_after_fields};
pub use sniff::{Sniffed, sniff};
