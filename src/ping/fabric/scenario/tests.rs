#![expect(clippy::float_cmp, reason = "what is written is what is read, to the last bit")]

use super::*;

/// Expands the forms that these tests use: `n[1-4]` and `n1,n2`.
fn expand(set: &str) -> Result<Vec<String>, String> {
    if set.contains('?') {
        return Err(format!("{set}\n ^ no such sign"));
    }
    let Some((name, range)) = set.strip_suffix(']').and_then(|set| set.split_once('[')) else {
        return Ok(set.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect());
    };
    let (low, high) = range.split_once('-').unwrap();
    let (low, high): (usize, usize) = (low.parse().unwrap(), high.parse().unwrap());
    Ok((low..=high).map(|number| format!("{name}{number}")).collect())
}

fn parse(text: &str) -> Result<SimulatedFabric, ScenarioError> {
    SimulatedFabric::parse(text, &expand)
}

/// Returns the line of the error, and its description.
fn error(text: &str) -> (Option<usize>, String) {
    let error = parse(text).unwrap_err();
    assert!(!error.fix.is_empty(), "{error:?}");
    (error.line, error.what)
}

#[test]
fn a_whole_fabric_is_read() {
    let fabric = parse(
        "# two leaves\nhosts n[1-8]   # all\nrails 2\nleaf a n[1-4]\nleaf b n[5-8]\npod p a b\n\
         latency 2us\nlatency cross 3us\ntcp 20us\nnoise 3%\nseed 7\n\n\
         fault host n3 slow 1.25\nfault host n5 rail 1 slow 1.3\nfault transmit n6 slow 1.4\n\
         fault leaf b rail 0 slow 1.2\nfault path a b slow 1.1\nfault pair n1 n2 slow 1.6\n\
         fault pair n1 -> n7 loss 5%\nfault host n8 dead\n",
    )
    .unwrap();
    assert_eq!((fabric.hosts().len(), fabric.rails()), (8, 2));
    assert_eq!(fabric.topology().unwrap().leaf_of, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!((fabric.tcp_ns, fabric.noise, fabric.seed), (20_000, 0.03, 7));
    assert_eq!(fabric.at_host[2 * 2].as_source.slow, 1.25);
    assert_eq!(
        (fabric.at_host[4 * 2].as_target.slow, fabric.at_host[4 * 2 + 1].as_target.slow),
        (1.0, 1.3)
    );
    assert_eq!(
        (fabric.at_host[5 * 2].as_source.slow, fabric.at_host[5 * 2].as_target.slow),
        (1.4, 1.0)
    );
    assert_eq!(fabric.at_host[7 * 2].host_fault, Some(HostFault::Dead));
    assert_eq!((fabric.at_leaf[2].slow, fabric.at_leaf[3].slow), (1.2, 1.0));
    assert_eq!((fabric.on_path.len(), fabric.on_pair.len()), (2, 4 + 2));
}

#[test]
fn faults_of_one_thing_add_up() {
    let fabric = parse("hosts n[1-2]\nfault host n1 slow 2\nfault host n1 slow 3").unwrap();
    assert_eq!(fabric.at_host[0].as_source.slow, 6.0);
}

#[test]
fn the_line_that_is_wrong_is_named() {
    let cases = [
        ("hosts n[1-4]\nspeed 3", Some(2), "unknown word speed"),
        ("\n\nhosts", Some(3), "hosts has too few or too many words"),
        ("hosts ?", Some(1), "invalid host set ?:\n?\n ^ no such sign"),
        ("hosts ,", Some(1), ", contains no host"),
        ("hosts n[1-5000]", Some(1), "5000 hosts exceed the limit of 4096"),
        ("rails 17", Some(1), "rails 17"),
        ("rails 0", Some(1), "rails 0"),
        ("noise 3", Some(1), "invalid percentage 3"),
        ("noise NaN%", Some(1), "invalid percentage NaN%"),
        ("noise 51%", Some(1), "invalid percentage 51%"),
        ("latency inf us", Some(1), "latency has too few or too many words"),
        ("latency NaNus", Some(1), "invalid latency NaNus"),
        ("latency -1us", Some(1), "invalid latency -1us"),
        ("latency 1.6", Some(1), "invalid latency 1.6"),
        ("tcp 2s", Some(1), "invalid latency 2s"),
        ("seed -1", Some(1), "seed -1"),
        ("rails 2", None, "no hosts line"),
        ("", None, "no hosts line"),
        ("hosts n[1-2]\nleaf a n1", None, "host n2 is on no leaf"),
        (
            "hosts n[1-2]\nleaf a n1\nleaf b n[1-2]",
            None,
            "host n1 is on leaf b and on another leaf",
        ),
        ("leaf a n1\nleaf a n2", Some(2), "leaf a is defined twice"),
        ("hosts n[1-2]\npod p a", None, "pods without leaves"),
        ("hosts n1\nleaf a n1\npod p b", None, "a pod names leaf b, which is not defined"),
    ];
    for (text, line, what) in cases {
        assert_eq!(error(text), (line, what.to_owned()), "{text}");
    }
}

#[test]
fn a_fault_that_is_none_is_named() {
    let cases = [
        ("", "unknown fault location"),
        ("cable n1 slow 2", "unknown fault location"),
        ("host n9 slow 2", "unknown host n9"),
        ("host n1", "unknown kind of fault"),
        ("host n1 slow", "unknown kind of fault"),
        ("host n1 slow 0.5", "slow 0.5"),
        ("host n1 slow NaN", "slow NaN"),
        ("host n1 slow 1e9", "slow 1e9"),
        ("host n1 loss 101%", "invalid percentage 101%"),
        ("host n1 rail 1 slow 2", "rail 1"),
        ("host n1 rail 0 dead", "dead and hung apply to a whole host, not to one rail"),
        ("transmit n1 blocked", "transmit and receive support only slow"),
        ("leaf a slow 2", "leaf a is not defined"),
        ("path a b slow 2", "leaf a is not defined"),
        ("pair n1 n1 slow 2", "the pair names one host twice"),
        ("pair n1 n2 dead", "mtu, down, dead and hung apply to hosts only"),
        ("pair n1 n2 mtu 1500", "mtu, down, dead and hung apply to hosts only"),
        ("host n1 mtu 100", "mtu 100"),
        ("host n1 mtu", "unknown kind of fault"),
    ];
    for (fault, what) in cases {
        let text = format!("hosts n[1-4]\nfault {fault}");
        assert_eq!(error(&text), (Some(2), what.to_owned()), "{fault}");
    }
    let text = "hosts n[1-2]\nleaf a n1\nleaf b n2\nfault path a a slow 2";
    assert_eq!(error(text), (Some(4), "a path from a leaf to itself".to_owned()));
}

#[test]
fn a_text_without_end_is_refused() {
    let (line, what) = error(&"\n".repeat(MAX_LINES + 1));
    assert_eq!((line, what.as_str()), (Some(MAX_LINES + 1), "more than 100000 lines"));
    let faults = "fault host n1 slow 1.1\n".repeat(MAX_FAULTS + 1);
    assert_eq!(error(&faults).1, "more than 10000 faults");
}
