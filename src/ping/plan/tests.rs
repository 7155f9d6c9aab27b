use std::collections::BTreeSet;

use super::*;
use crate::model::ping::Leaf;

fn plan(pairs: Pairs, choice: PlanOptions) -> Plan {
    Plan::new(pairs, choice, None).unwrap()
}

/// Returns every ordered pair of a plan. Checks that no host appears twice in a round, or, in a
/// shift, that no host is a source twice.
fn ordered(plan: &Plan) -> BTreeSet<(usize, usize)> {
    let mut all = BTreeSet::new();
    for round in 0..plan.rounds() {
        let (mut asking, mut asked) = (BTreeSet::new(), BTreeSet::new());
        for turn in plan.round(round) {
            assert!(asking.insert(turn.source) && asked.insert(turn.target), "{turn:?}");
            if plan.schedule != Schedule::Shift {
                assert!(
                    !asked.contains(&turn.source) && !asking.contains(&turn.target),
                    "{turn:?}"
                );
            }
            for pair in turn.ordered() {
                assert!(plan.pairs.wants(pair.0, pair.1), "{pair:?}");
                assert!(all.insert(pair), "{pair:?} is there twice");
            }
        }
    }
    assert_eq!(plan.count(), all.len() as u64);
    all
}

fn least_peers(plan: &Plan) -> u64 {
    plan.least_peers(&plan.tally_of(usize::MAX, 1, None))
}

fn with(schedule: Schedule) -> PlanOptions {
    PlanOptions { schedule: Some(schedule), ..PlanOptions::default() }
}

#[test]
fn every_pair_comes_once_and_no_host_twice_in_a_round() {
    for hosts in 0..40 {
        for schedule in [Schedule::Circle, Schedule::Shift, Schedule::Random] {
            let plan = plan(Pairs::all(hosts), with(schedule));
            assert_eq!(
                ordered(&plan).len(),
                hosts * hosts.saturating_sub(1),
                "{hosts} {schedule:?}"
            );
            assert!(plan.rounds() <= hosts, "{hosts} {schedule:?}");
        }
    }
}

/// Returns pairs between clients, hosts with both roles, and servers, by their numbers.
fn storage(clients: usize, both: usize, servers: usize, both_ways: bool) -> Pairs {
    let hosts: Vec<_> = [((true, false), clients), ((true, true), both), ((false, true), servers)]
        .into_iter()
        .flat_map(|(role, count)| std::iter::repeat_n(role, count))
        .collect();
    Pairs::between(&hosts, both_ways)
}

#[test]
fn two_sets_meet_in_as_few_rounds_as_can_be() {
    for (clients, servers) in [(1, 4), (5, 3), (3, 5), (4, 4), (1, 1)] {
        let plan = plan(storage(clients, 0, servers, true), PlanOptions::default());
        assert_eq!(ordered(&plan).len(), 2 * clients * servers);
        assert_eq!(plan.rounds(), clients.max(servers));
    }
    let from_one = plan(storage(1, 0, 3, false), PlanOptions::default());
    assert_eq!(ordered(&from_one), [(0, 1), (0, 2), (0, 3)].into());
    assert_eq!(from_one.round(0), [Turn { source: 0, target: 1, back: false }]);
    assert_eq!(plan(storage(0, 0, 3, false), PlanOptions::default()).rounds(), 0);
}

#[test]
fn sets_that_overlap_have_each_pair_once() {
    for both_ways in [true, false] {
        for schedule in [Schedule::Circle, Schedule::Shift, Schedule::Random] {
            let plan = plan(storage(3, 2, 4, both_ways), with(schedule));
            assert_eq!(ordered(&plan).len() as u64, plan.pairs.count(), "{schedule:?}");
        }
    }
}

#[test]
fn a_bisection_has_each_host_once() {
    let even = plan(Pairs::all(6), with(Schedule::Bisection));
    assert_eq!((even.rounds(), ordered(&even).len()), (1, 6));
    let odd = plan(Pairs::all(7), with(Schedule::Bisection));
    assert_eq!((least_peers(&odd), ordered(&odd).len()), (1, 8));
    let error = Plan::new(storage(2, 0, 2, true), with(Schedule::Bisection), None).unwrap_err();
    assert!(error.what.contains("which it halves"));
    let choice = PlanOptions { peers: Some(2), ..with(Schedule::Bisection) };
    assert!(Plan::new(Pairs::all(4), choice, None).is_err());
    assert!(Plan::new(Pairs::all(MAX_HOSTS + 1), PlanOptions::default(), None).is_err());
}

#[test]
fn every_host_has_as_many_peers_as_were_asked_for() {
    for hosts in [2, 3, 7, 16, 33] {
        for peers in [1, 2, 5, 50] {
            for schedule in [Schedule::Random, Schedule::Circle, Schedule::Shift] {
                let choice = PlanOptions { peers: Some(peers), seed: 3, ..with(schedule) };
                let plan = plan(Pairs::all(hosts), choice);
                let least = least_peers(&plan);
                assert!(least >= peers.min(hosts - 1) as u64, "{hosts} {peers} {schedule:?}");
                let most = hosts * (peers + 2) * 2;
                assert!(ordered(&plan).len() <= most, "{hosts} {peers} {schedule:?}");
            }
        }
    }
    let choice = PlanOptions { peers: Some(2), seed: 1, ..PlanOptions::default() };
    let few = plan(storage(40, 0, 4, true), choice);
    assert!(least_peers(&few) >= 2);
    // Forty clients with two servers each are twenty turns for each of four servers. The first
    // free round of a pair is at most as late as the number of other turns of both its hosts.
    assert_eq!(ordered(&few).len(), 160);
    assert!(few.rounds() < 40, "{}", few.rounds());
}

#[test]
fn the_same_seed_is_the_same_plan_and_another_is_another() {
    let pairs = |seed| {
        let choice = PlanOptions { peers: Some(4), seed, ..PlanOptions::default() };
        let plan = plan(Pairs::all(32), choice);
        (0..plan.rounds()).map(|round| plan.round(round)).collect::<Vec<_>>()
    };
    assert_eq!(pairs(7), pairs(7));
    assert_ne!(pairs(7), pairs(8));
}

fn topology(leaf_of: impl IntoIterator<Item = usize>, leaves: usize) -> Topology {
    let leaf = |number| Leaf { name: format!("l{number}"), pod: 0 };
    Topology { leaf_of: leaf_of.into_iter().collect(), leaves: (0..leaves).map(leaf).collect() }
}

#[test]
fn every_two_leaves_are_tried() {
    let topology = topology((0..64).map(|host| host / 4), 16);
    let choice = PlanOptions { peers: Some(2), seed: 1, ..PlanOptions::default() };
    let without =
        plan(Pairs::all(64), choice).tally_of(usize::MAX, 1, Some(&topology)).leaf_pairs().unwrap();
    assert!(without.tested < without.possible);
    let plan = Plan::new(Pairs::all(64), choice, Some(&topology)).unwrap();
    let leaves = plan.tally_of(usize::MAX, 1, Some(&topology)).leaf_pairs().unwrap();
    assert_eq!((leaves.tested, leaves.possible), (136, 136));
    ordered(&plan);
}

#[test]
fn listed_pairs_are_scheduled_in_few_rounds() {
    let wanted = [(0, 1), (1, 0), (0, 2), (3, 4)].into();
    let plan = Plan::of(5, &wanted);
    assert_eq!(ordered(&plan), wanted);
    assert_eq!(plan.rounds(), 2);
    assert_eq!(Plan::of(5, &BTreeSet::new()).rounds(), 0);
}

#[test]
fn tally_of_a_full_plan_equals_the_sum_of_its_turns() {
    let topology = topology([0, 0, 1, 2, 2, 2, 3], 4);
    let all = Plan::all(7);
    let known = all.coverage(2, &all.tally_of(usize::MAX, 2, Some(&topology)));
    let mut tally = Tally::new(7, Some(&topology));
    for turn in (0..all.rounds()).flat_map(|round| all.round(round)) {
        tally.add(turn.source, turn.target, 4);
    }
    assert_eq!(all.coverage(2, &tally), known);
    assert_eq!(known.leaf_pairs.unwrap().possible, 6 + 2);
    assert_eq!(Plan::all(0).tally_of(usize::MAX, 1, None).tested, 0);
}
