//! [`canter::fetch::HttpFetch`] against real servers on loopback, which say and
//! do what servers on the web do, in order and out of order.

#[path = "fetch/bodies.rs"]
mod bodies;
#[path = "fetch/connections.rs"]
mod connections;
#[cfg(feature = "cookies")]
#[path = "fetch/cookies.rs"]
mod cookies;
#[path = "fetch/deadlines.rs"]
mod deadlines;
#[path = "fetch/heads.rs"]
mod heads;
#[path = "fetch/proxies.rs"]
mod proxies;
#[path = "fetch/reach.rs"]
mod reach;
#[path = "fetch/server.rs"]
mod server;
