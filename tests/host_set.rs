//! Host set expressions: a table of expressions and their hosts, and properties of random
//! expressions.

use proptest::prelude::*;
use rdmactl::hosts::{
    AllowedTerms, GroupName, HostSet, Lookup, LookupError, ResolvedLine, ResolvedLines,
};
use rdmactl::names::fold;

fn expand(expression: &str) -> Result<String, String> {
    let set = HostSet::parse(expression).map_err(|error| error.to_string())?;
    Ok(set.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
}

#[test]
fn every_expression_of_the_table_has_its_hosts() {
    let table = [
        ("node[1-3]", "node1 node2 node3"),
        ("node[01-03]", "node01 node02 node03"),
        ("foo[08-10]", "foo08 foo09 foo10"),
        ("node[9-11]", "node9 node10 node11"),
        ("node[09-11]", "node09 node10 node11"),
        ("node[009-11]", "node009 node010 node011"),
        ("node[0-8/2]", "node0 node2 node4 node6 node8"),
        ("node[1-10/3]", "node1 node4 node7 node10"),
        ("node[2,1,3-4,3]", "node1 node2 node3 node4"),
        ("node[1-2,01-02]", "node1 node01 node2 node02"),
        ("node[1,01,001]", "node1 node01 node001"),
        ("r[1-2]n[01-02]-ib0", "r1n01-ib0 r1n02-ib0 r2n01-ib0 r2n02-ib0"),
        ("a[1-2]b[1-2]c[1-2]", "a1b1c1 a1b1c2 a1b2c1 a1b2c2 a2b1c1 a2b1c2 a2b2c1 a2b2c2"),
        ("n[1-2][3-4]", "n13 n14 n23 n24"),
        ("n[1][2]", "n12"),
        ("1[0-2]", "10 11 12"),
        ("[1-3]", "1 2 3"),
        ("[1-3]n", "1n 2n 3n"),
        ("1-3", "1-3"),
        ("node1,node2,node3", "node1 node2 node3"),
        ("node1 node2\tnode3", "node1 node2 node3"),
        ("node3,node1,node2", "node1 node2 node3"),
        ("node1,,node2", "node1 node2"),
        ("node1,", "node1"),
        ("node1 , node2 , ", "node1 node2"),
        ("node[1-2]-[5-6]", "node1-5 node1-6 node2-5 node2-6"),
        ("n1-[1-2]-[01-02]", "n1-1-01 n1-1-02 n1-2-01 n1-2-02"),
        ("node[1-3]!node2", "node1 node3"),
        ("node[1-3]&node[2-5]", "node2 node3"),
        ("node[1-3]^node[2-5]", "node1 node4 node5"),
        ("node[1-3] ^ node[2-5]", "node1 node4 node5"),
        ("node[1-5]!node[1-2]&node[2-4]", "node3 node4"),
        ("node[1-2]!node[1-2]", ""),
        ("user@node[1-2]", "user@node1 user@node2"),
        ("node[1-3]:2222", "node1:2222 node2:2222 node3:2222"),
        ("fe80::1", "fe80::1"),
        ("2001:db8::[1-3]", "2001:db8::1 2001:db8::2 2001:db8::3"),
        ("[::1]", "::1"),
        ("[2001:db8::1]:22", "[2001:db8::1]:22"),
        ("u@[::1]:22", "u@[::1]:22"),
        ("10.0.[0-1].[1-2]", "10.0.0.1 10.0.0.2 10.0.1.1 10.0.1.2"),
        ("node[1-3].example.com", "node1.example.com node2.example.com node3.example.com"),
        ("node[0],node[00],node[0-0],node[1-1]", "node0 node00 node1"),
        ("foo-0[1-2]", "foo-01 foo-02"),
        ("foo0[9-11]", "foo09 foo010 foo011"),
        (" node1", "node1"),
        ("node[ 1 - 3 ]", "node1 node2 node3"),
        ("NODE[1-2]", "NODE1 NODE2"),
        ("n[18446744073709551615]", "n18446744073709551615"),
    ];
    for (expression, expected) in table {
        assert_eq!(expand(expression).as_deref(), Ok(expected), "{expression}");
    }
    assert_eq!(HostSet::parse("node[001-100]").unwrap().len(), 100);
    assert_eq!(HostSet::parse("n[1-65536]").unwrap().len(), HostSet::MAX_HOSTS);
}

#[test]
fn every_fault_is_shown_at_its_column() {
    let table = [
        ("", 1, "no host"),
        (" , ", 1, "no host"),
        ("node[1-03]", 6, "different widths"),
        ("node[-1-3]", 6, "starts with a number"),
        ("node[3-1]", 6, "descending"),
        ("node[1-", 5, "unclosed bracket"),
        ("node[1-2", 5, "unclosed bracket"),
        ("node]1[", 7, "unclosed bracket"),
        ("node]1", 5, "no opening bracket"),
        ("node[]", 6, "missing"),
        ("node[1-3,]", 10, "missing"),
        ("node[1,,2]", 8, "missing"),
        ("node[a-c]", 6, "not a digit"),
        ("node[1:3]", 7, "not allowed in a range"),
        ("node[1-3/0]", 10, "step must not be 0"),
        ("node[1-3] - node2", 11, "`-` is not an operator"),
        ("node[1-3] -", 11, "`-` is not an operator"),
        ("(node[1-3] node5)!node2", 1, "parentheses"),
        ("node*", 5, "wildcards"),
        ("node{1..3}", 5, "braces"),
        ("node(1-3)", 5, "parentheses"),
        ("node%d", 5, "not allowed"),
        ("node1;x", 6, "not allowed"),
        ("nodé1", 4, "not allowed"),
        ("-oProxyCommand=x", 1, "cannot start with `-`"),
        ("u@-oProxyCommand=x", 2, "no host name"),
        ("a@b@c", 4, "second `@`"),
        ("10.0.0.1-3", 1, "a range of addresses needs brackets"),
        ("10.0.0.[1-2]-3", 1, "a range of addresses needs brackets"),
        ("n[18446744073709551616]", 3, "too large"),
        ("n[1-99999999]", 1, "more than 65,536"),
        ("n[1-256][1-257]", 1, "more than 65,536"),
        ("n[0-18446744073709551615]n[0-18446744073709551615]", 1, "more than 65,536"),
        ("n[1-65536],m", 12, "more than 65,536"),
        ("node1:0", 6, "not a port"),
        ("node1:ssh", 6, "not a port"),
        ("node1:[22-23]", 6, "not a port"),
        ("1::2::3", 1, "is not an IPv6 address"),
        ("[::1]x", 6, "only :PORT"),
        ("node1!", 6, "no host follows this operator"),
        ("!node1", 1, "no host before"),
        ("node1!,node2", 7, "no host before"),
        ("@grp", 1, "groups are not allowed"),
        ("n1,@src:rack[1-2]", 4, "groups are not allowed"),
        ("^hosts.txt", 1, "files are not allowed"),
        ("n1 ^hosts.txt", 4, "files are not allowed"),
        ("n1,^", 4, "no file after `^`"),
        ("@", 1, "no group after `@`"),
        ("@src:", 1, "no group after `@`"),
        ("@:grp", 2, "no group source before"),
        ("@@src", 1, "`@@` is not supported"),
        ("@rack*", 6, "wildcards"),
        ("@rack[1-", 6, "unclosed bracket"),
        ("@rack[3-1]", 7, "descending"),
        ("@r$x", 3, "not allowed in a group name"),
        ("@s$c:r", 3, "not allowed in a group name"),
        ("@-oX", 2, "cannot start with `-`"),
        ("@src:-a", 6, "cannot start with `-`"),
        ("@rack[1-99999999]", 2, "more than 65,536"),
        ("-", 1, "`-` means standard input"),
        ("...", 1, "not a host name"),
    ];
    for (expression, column, message) in table {
        let error = HostSet::parse(expression).expect_err(expression);
        assert!(error.message().contains(message), "{expression}: {error}");
        assert_eq!(error.column(), column, "{expression}: {error}");
    }
}

/// Groups of a test: source, name and host set.
struct TestGroups(&'static [(&'static str, &'static str, &'static str)]);

/// Source of groups that are named without a source.
const USUAL: &str = "local";

impl Lookup for TestGroups {
    fn group(&self, group: &GroupName) -> Result<ResolvedLines, LookupError> {
        let source = group.source.as_deref().unwrap_or(USUAL);
        let is_wanted = |(of, name, _): &&(&str, &str, &str)| {
            *of == source && (*name == group.name || group.name == GroupName::ALL)
        };
        let line = |(of, name, set): &(&str, &str, &str)| ResolvedLine {
            text: (*set).to_owned(),
            place: format!("{of}/{name}"),
        };
        let lines: Vec<ResolvedLine> = self.0.iter().filter(is_wanted).map(line).collect();
        if lines.is_empty() {
            return Err(LookupError::new(format!("no {}", group.name)).fix("write another"));
        }
        Ok(ResolvedLines { lines, within: AllowedTerms::Groups(Some(source.to_owned())) })
    }

    fn file(&self, name: &str) -> Result<ResolvedLines, LookupError> {
        let line = ResolvedLine { text: format!("{name}[1-2]"), place: format!("{name}:1") };
        Ok(ResolvedLines { lines: vec![line], within: AllowedTerms::Hosts })
    }

    fn stdin(&self) -> Result<ResolvedLines, LookupError> {
        let line = |(index, text): (usize, &str)| ResolvedLine {
            text: text.to_owned(),
            place: format!("stdin:{}", index + 1),
        };
        let lines = "node11\nnode12".lines().enumerate().map(line).collect();
        Ok(ResolvedLines { lines, within: AllowedTerms::Groups(None) })
    }
}

const GROUPS: TestGroups = TestGroups(&[
    ("local", "grp", "n[1-4]"),
    ("local", "more", "@grp,n9"),
    ("local", "none", "n1!n1"),
    ("racks", "rack1", "a[1-2]"),
    ("racks", "rack2", "b[1-2]"),
    ("racks", "old", "@rack[1-2]!a1"),
    ("racks", "far", "@local:more"),
]);

fn found(expression: &str, lookup: &dyn Lookup) -> Result<String, String> {
    HostSet::find(expression, lookup).map(|set| set.fold()).map_err(|error| error.to_string())
}

#[test]
fn groups_and_files_are_terms_like_any_other() {
    let table = [
        ("@grp", "n[1-4]"),
        ("n1,@grp!n2", "n[1,3-4]"),
        ("@local:grp&n[3-9]", "n[3-4]"),
        ("@racks:rack[1-2]", "a[1-2],b[1-2]"),
        ("@racks:old", "a2,b[1-2]"),
        ("@racks:far", "n[1-4,9]"),
        ("@*", "n[1-4,9]"),
        ("@racks:*!@racks:rack1", "b[1-2],n[1-4,9]"),
        ("@none", ""),
        ("n1 ^file", "file[1-2],n1"),
        ("^file!file1", "file2"),
        ("n1^n2", "n[1-2]"),
        ("-", "node[11-12]"),
        ("-!node11", "node12"),
        ("n1,-", "n1,node[11-12]"),
        ("n1, - ,n2", "n[1-2],node[11-12]"),
        (" - n1", "n1,node[11-12]"),
        ("node[11-13]! -", "node13"),
    ];
    for (expression, expected) in table {
        assert_eq!(found(expression, &GROUPS).as_deref(), Ok(expected), "{expression}");
    }
}

#[test]
fn a_fault_in_a_group_is_drawn_under_the_way_to_it() {
    let wrong =
        TestGroups(&[("local", "a", "@b"), ("local", "b", "n1,@c"), ("local", "c", "n[1-")]);
    let error = found("x,@a", &wrong).unwrap_err();
    let expected = "x,@a\n  ^^ invalid host set in local/a\n@b\n^^ invalid host set in local/b\nn1,@c\n   ^^ invalid host set in \
                    local/c\nn[1-\n ^^^ unclosed bracket: add `]`";
    assert_eq!(error, expected);
    let error = found("node1,@nogrp", &GROUPS).unwrap_err();
    assert_eq!(error, "node1,@nogrp\n      ^^^^^^ no nogrp: write another");
}

#[test]
fn a_group_that_is_made_of_itself_is_an_error() {
    let wheel = TestGroups(&[("local", "a", "n1,@b"), ("local", "b", "@c"), ("local", "c", "@a")]);
    let error = found("@local:a", &wheel).unwrap_err();
    assert!(error.contains("@local:a > @local:b > @local:c > @local:a"), "{error}");
    assert!(found("@a", &wheel).unwrap_err().contains("contains itself"));
    // A group may not refer to a file or to stdin.
    let astray = TestGroups(&[("local", "a", "^file"), ("local", "b", "-")]);
    assert!(found("@a", &astray).unwrap_err().contains("can be named only on the command line"));
    assert!(found("@b", &astray).unwrap_err().contains("can be named only on the command line"));
}

#[test]
fn groups_that_multiply_are_read_once_each() {
    const DEEPEST: usize = 30;
    struct Doubling;
    impl Lookup for Doubling {
        fn group(&self, group: &GroupName) -> Result<ResolvedLines, LookupError> {
            let depth: usize = group.name.trim_start_matches('g').parse().unwrap_or(0);
            let text = format!("@g{0},@g{0},n{depth}", depth + 1);
            let text = if depth == DEEPEST { "n[1-64]".to_owned() } else { text };
            let lines = vec![ResolvedLine { text, place: group.name.clone() }];
            Ok(ResolvedLines { lines, within: AllowedTerms::Groups(None) })
        }
        fn file(&self, _: &str) -> Result<ResolvedLines, LookupError> {
            Err(LookupError::new("none"))
        }
        fn stdin(&self) -> Result<ResolvedLines, LookupError> {
            Err(LookupError::new("none"))
        }
    }
    assert_eq!(HostSet::find("@g1", &Doubling).map(|set| set.len()), Ok(64));
    let error = HostSet::find("n1,@g31", &Doubling).unwrap_err();
    assert!(error.to_string().contains("more than 32 levels deep"), "{error}");
}

#[test]
fn a_fault_is_drawn_under_the_expression() {
    let error = HostSet::parse("gpu1,n[1-03]").unwrap_err().to_string();
    assert_eq!(
        error,
        "gpu1,n[1-03]\n       ^^^^ the bounds have different widths: write [01-03] or [1-3]"
    );
    let long = format!("{}[1-", "n1,".repeat(100));
    let error = HostSet::parse(&long).unwrap_err().to_string();
    assert!(error.lines().all(|line| line.len() < 160), "{error}");
    let error = HostSet::parse("n1\u{1b}]0;x").unwrap_err().to_string();
    assert!(!error.contains('\u{1b}'), "{error}");
}

#[test]
fn names_longer_than_dns_allows_are_refused_before_they_are_built() {
    let error = HostSet::parse(&format!("n[{}1-60000]", "0".repeat(60_000))).unwrap_err();
    assert!(error.message().contains("longer"), "{error}");
}

#[test]
fn folding_keeps_widths_apart_and_ports_whole() {
    let table = [
        ("n[1-3],n5", "n[1-3,5]"),
        ("n[08-11]", "n[08-11]"),
        ("n[98-101]", "n[98-101]"),
        ("n[1-2,01-02]", "n[1-2,01-02]"),
        ("foo09,foo010,foo011", "foo[09,010-011]"),
        ("n[0-8/2]", "n[0,2,4,6,8]"),
        ("r[1-2]n[01-16]-ib0", "r[1-2]n[01-16]-ib0"),
        ("n[1-2]:22,n[1-2]:23", "n[1-2]:22,n[1-2]:23"),
        ("u1@n1,u2@n1", "u1@n1,u2@n1"),
        ("2001:db8::[1-3]", "2001:db8::1,2001:db8::2,2001:db8::3"),
        ("10.0.[0-1].[1-2]", "10.0.[0-1].[1-2]"),
        ("n[01-64]!n17", "n[01-16,18-64]"),
        ("login", "login"),
        ("x[1-2]y[1-2]!x2y2", "x1y[1-2],x2y1"),
    ];
    for (expression, folded) in table {
        assert_eq!(HostSet::parse(expression).unwrap().fold(), folded, "{expression}");
    }
    assert_eq!(fold::<[&str; 0]>([]), "");
    assert_eq!(fold(["é1", "é2", "1é", "99999999999999999999"]), "1é,99999999999999999999,é[1-2]");
}

fn expressions() -> impl Strategy<Value = String> {
    let bracket = proptest::collection::vec(
        (0_u32..120, 0_u32..12, 1_usize..4, 1_u32..4).prop_map(|(low, more, width, step)| {
            let high = low + more;
            let high_width = if format!("{low}").len() < width { width } else { 0 };
            format!("{low:0width$}-{high:0high_width$}/{step}")
        }),
        1..3,
    )
    .prop_map(|ranges| format!("[{}]", ranges.join(",")));
    let part = prop_oneof!["[a-z]{1,3}", "[0-9]{1,3}", "-[a-z]", "\\.[a-z]", bracket];
    let name = ("[a-z0-9]", proptest::collection::vec(part, 1..4))
        .prop_map(|(first, rest)| first + &rest.concat());
    let user = prop_oneof![3 => Just(String::new()), 1 => Just("u7@".to_owned())];
    let suffix = prop_oneof![3 => Just(String::new()), 1 => Just(":2222".to_owned())];
    let term = (user, name, suffix).prop_map(|(user, name, suffix)| user + &name + &suffix);
    (term.clone(), proptest::collection::vec(("[,!&^ ]", term), 0..5))
        .prop_map(|(first, rest)| rest.into_iter().fold(first, |all, (op, term)| all + &op + &term))
}

proptest! {
    #[test]
    fn a_folded_set_reads_back_as_itself(expression in expressions()) {
        if let Ok(set) = HostSet::parse(&expression) && !set.is_empty() {
            let folded = set.fold();
            prop_assert_eq!(HostSet::parse(&folded), Ok(set), "{}", folded);
        }
    }

    #[test]
    fn a_random_set_of_names_folds_whole(names in proptest::collection::btree_set("[ab]{1,2}[0-9]{1,3}(-[0-9]{1,2})?", 1..60)) {
        let set = HostSet::parse(&names.iter().cloned().collect::<Vec<_>>().join(",")).unwrap();
        prop_assert_eq!(set.len(), names.len());
        prop_assert_eq!(HostSet::parse(&fold(&names)).unwrap(), set);
    }

    #[test]
    fn arbitrary_text_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = HostSet::parse(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
        let _ = fold([text]);
    }

    #[test]
    fn arbitrary_grammar_never_panics(text in "[n0-9\\[\\],!&^@:/. -]{0,60}") {
        if let Err(error) = HostSet::parse(&text) {
            prop_assert!(error.to_string().contains('^'));
        }
    }
}
