//! The web as it is: a server on loopback that lies, errs and plays tricks, the
//! real program, and what it must write about each of the tricks. Over a
//! hundred odd behaviours, in a few crawls.

#![cfg(feature = "cli")]

mod common;

#[path = "content/bodies.rs"]
mod bodies;
#[path = "content/charsets.rs"]
mod charsets;
#[path = "content/connections.rs"]
mod connections;
#[path = "content/crawl.rs"]
mod crawl;
#[path = "content/heads.rs"]
mod heads;
#[path = "content/links.rs"]
mod links;
#[path = "content/redirects.rs"]
mod redirects;
#[path = "content/robots.rs"]
mod robots;
#[path = "content/sitemaps.rs"]
mod sitemaps;
#[path = "content/traps.rs"]
mod traps;
