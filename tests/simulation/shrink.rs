//! [`shrink`]: makes a plan that fails smaller, as long as it fails in the same
//! way. Keeps: what comes out fails.

use std::time::{Duration, Instant};

use canter::frontier::Order;

use crate::plan::{HostPlan, Plan, RobotsTemper, ScopePlan, Temper, unpaced};

/// The hosts of which each is made simpler by itself.
const HOSTS_TRIED: usize = 50;
/// How long smaller plans are looked for at most.
const PATIENCE: Duration = Duration::from_secs(120);

/// A step towards a smaller plan.
type Step = Box<dyn Fn(&mut Plan)>;

/// The smallest plan to be found that fails as `fails` says.
pub(crate) fn shrink(plan: &Plan, fails: impl Fn(&Plan) -> bool) -> Plan {
    let begin = Instant::now();
    let mut best = plan.clone();
    while let Some(smaller) = steps(&best).into_iter().find_map(|step| {
        let mut smaller = best.clone();
        step(&mut smaller);
        let helps = begin.elapsed() < PATIENCE && smaller != best && fails(&smaller);
        helps.then_some(smaller)
    }) {
        best = smaller;
    }
    best
}

/// Steps from a plan, the largest first.
fn steps(plan: &Plan) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let there: Vec<usize> = (0..plan.hosts.len())
        .filter(|at| !plan.hosts[*at].absent)
        .collect();
    // Halves, quarters and so on are left out, down to single hosts.
    let mut size = there.len() / 2;
    while size > 0 {
        for some in there.chunks(size) {
            let some = some.to_vec();
            steps.push(Box::new(move |plan| {
                for at in &some {
                    plan.hosts[*at].absent = true;
                }
            }));
        }
        size /= 2;
    }
    let mut with = |change: fn(&mut Plan)| steps.push(Box::new(change));
    with(|plan| {
        for host in &mut plan.hosts {
            host.pages = host.pages.div_ceil(2);
        }
    });
    with(|plan| plan.runs = 1);
    with(|plan| plan.stop_at = None);
    with(|plan| plan.obey_robots = false);
    with(|plan| plan.scope = ScopePlan::All);
    with(|plan| plan.max_depth = None);
    with(|plan| plan.order = Order::Fifo);
    with(|plan| plan.tags = 1);
    with(|plan| plan.links = 0);
    with(|plan| plan.links /= 2);
    simpler_policies(&mut with);
    for at in there.into_iter().take(HOSTS_TRIED) {
        let mut with = |change: fn(&mut HostPlan)| {
            steps.push(Box::new(move |plan| change(&mut plan.hosts[at])));
        };
        with(|host| *host = HostPlan::plain(1));
        with(|host| host.temper = Temper::Fine);
        with(|host| host.robots = RobotsTemper::Missing);
        with(|host| host.pages = 1);
        with(|host| host.pages = host.pages.div_ceil(2));
        with(|host| host.pages = host.pages.saturating_sub(1).max(1));
        with(|host| host.latency = Duration::ZERO);
        with(|host| host.secure = false);
        with(|host| host.seed = false);
    }
    steps
}

fn simpler_policies(with: &mut impl FnMut(fn(&mut Plan))) {
    with(|plan| plan.policy = unpaced());
    with(|plan| plan.policy.hosts.clear());
    with(|plan| plan.policy.max_requests_per_minute = None);
    with(|plan| plan.policy.burst = 1);
    with(|plan| plan.policy.jitter = Duration::ZERO);
    with(|plan| plan.policy.warmup = Duration::ZERO);
    with(|plan| plan.policy.adaptive_concurrency = false);
    with(|plan| plan.policy.retry.max_retries = 0);
    with(|plan| plan.policy.retry.max_retries /= 2);
    with(|plan| plan.policy.retry.jitter = 0.0);
    with(|plan| plan.policy.retry = unpaced().retry);
    with(|plan| plan.policy.max_retry_after = unpaced().max_retry_after);
    with(|plan| plan.policy.retry_after_scope = unpaced().retry_after_scope);
    with(|plan| plan.policy.host_concurrency = 1);
    with(|plan| plan.policy.host_concurrency = 40);
    with(|plan| plan.policy.host_delay = Duration::ZERO);
    with(|plan| plan.policy.max_host_delay = unpaced().max_host_delay);
    with(|plan| plan.policy.max_consecutive_failures = 0);
    with(|plan| plan.policy.max_error_rate = 1.0);
    with(|plan| plan.policy.max_host_failures = 0);
    with(|plan| plan.policy.max_requests = None);
    with(|plan| plan.policy.deadline = None);
    with(|plan| plan.policy.max_pages_per_host = None);
    with(|plan| plan.policy.max_redirects = unpaced().max_redirects);
    with(|plan| plan.policy.shutdown_grace = unpaced().shutdown_grace);
    with(|plan| plan.policy.concurrency = 1);
    with(|plan| plan.policy.concurrency = plan.policy.concurrency.div_ceil(2));
}
