//! Parses a command line as `getopt_long` of the C library does.
//!
//! Options may stand between operands. Short options may be joined (`-vdx`), and long options may
//! be abbreviated (`--verb`). The tools of `compat` use it.

/// Option as in a help text: `--switch, -S <port_guid>`. The letter and the value are optional.
#[derive(Clone, Copy)]
pub(super) struct Opt(pub(super) &'static str);

impl Opt {
    /// Returns the long name without its `--`, which identifies the option in [`Word::Option`].
    pub(super) fn name(self) -> &'static str {
        let name = self.0.split([',', ' ']).next().unwrap_or_default();
        name.trim_start_matches('-')
    }

    /// Returns the short name, `S` of `-S`.
    pub(super) fn letter(self) -> Option<char> {
        self.0.split_once(", -")?.1.chars().next()
    }

    fn takes_value(self) -> bool {
        self.0.ends_with('>')
    }
}

/// Element of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Name of an option and its value; the value is empty if the option takes none.
    Option(&'static str, String),
    /// Message of the C library for an unknown or invalid option, with a line feed.
    Bad(String),
    Operand(String),
}

/// Parses a command line up to the first invalid option. `program` is the name in messages.
pub(super) fn parse(program: &str, opts: &[Opt], args: &[String]) -> Vec<Word> {
    let mut words = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            words.extend(args.by_ref().cloned().map(Word::Operand));
        } else if let Some(long) = arg.strip_prefix("--") {
            words.push(parse_long(program, opts, long, &mut args));
        } else if let Some(letters) = arg.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            parse_short(program, opts, letters, &mut args, &mut words);
        } else {
            words.push(Word::Operand(arg.clone()));
        }
        if matches!(words.last(), Some(Word::Bad(_))) {
            break;
        }
    }
    words
}

/// Parses the letters of one argument, for example `vdx` of `-vdx`.
fn parse_short<'args>(
    program: &str,
    opts: &[Opt],
    letters: &str,
    args: &mut impl Iterator<Item = &'args String>,
    words: &mut Vec<Word>,
) {
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        let Some(opt) = opts.iter().find(|opt| opt.letter() == Some(letter)) else {
            words.push(Word::Bad(format!("{program}: invalid option -- '{letter}'\n")));
            return;
        };
        if !opt.takes_value() {
            words.push(Word::Option(opt.name(), String::new()));
            continue;
        }
        let joined = Some(rest.as_str().to_owned()).filter(|value| !value.is_empty());
        words.push(match joined.or_else(|| args.next().cloned()) {
            Some(value) => Word::Option(opt.name(), value),
            None => Word::Bad(format!("{program}: option requires an argument -- '{letter}'\n")),
        });
        return;
    }
}

/// Parses a long option without its `--`, for example `ib-dev=x`.
fn parse_long<'args>(
    program: &str,
    opts: &[Opt],
    text: &str,
    args: &mut impl Iterator<Item = &'args String>,
) -> Word {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let bad = |text: String| Word::Bad(format!("{program}: {text}\n"));
    let exact = opts.iter().find(|opt| opt.name() == name);
    let abbreviated: Vec<&Opt> = opts.iter().filter(|opt| opt.name().starts_with(name)).collect();
    let opt = match (exact, &abbreviated[..]) {
        (Some(opt), _) => opt,
        (None, [opt]) => *opt,
        (None, []) => return bad(format!("unrecognized option '--{text}'")),
        (None, several) => {
            let names: Vec<_> = several.iter().map(|opt| format!("'--{}'", opt.name())).collect();
            let names = names.join(" ");
            return bad(format!("option '--{text}' is ambiguous; possibilities: {names}"));
        }
    };
    let long = opt.name();
    match (opt.takes_value(), value) {
        (false, None) => Word::Option(long, String::new()),
        (false, Some(_)) => bad(format!("option '--{long}' doesn't allow an argument")),
        (true, Some(value)) => Word::Option(long, value),
        (true, None) => match args.next() {
            Some(value) => Word::Option(long, value.clone()),
            None => bad(format!("option '--{long}' requires an argument")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTS: [Opt; 3] = [Opt("--ib-dev, -d <dev>"), Opt("--verbose, -v"), Opt("--version, -V")];

    fn words(args: &[&str]) -> Vec<Word> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        parse("tool", &OPTS, &args)
    }

    #[test]
    fn options_may_be_joined_abbreviated_or_after_operands() {
        let option = |name, value: &str| Word::Option(name, value.into());
        let expected = [option("verbose", ""), option("ib-dev", "x")];
        for args in [
            &["-v", "-d", "x"][..],
            &["-vdx"],
            &["-vd", "x"],
            &["--verb", "--ib-dev=x"],
            &["--verbose", "--ib", "x"],
        ] {
            assert_eq!(words(args), expected, "{args:?}");
        }
        assert_eq!(
            words(&["a", "-v", "--", "-d"]),
            [Word::Operand("a".into()), option("verbose", ""), Word::Operand("-d".into())]
        );
    }

    #[test]
    fn option_errors_match_those_of_glibc_getopt() {
        for (args, said) in [
            (&["-x"][..], "tool: invalid option -- 'x'\n"),
            (&["-d"], "tool: option requires an argument -- 'd'\n"),
            (&["--nope=1", "-v"], "tool: unrecognized option '--nope=1'\n"),
            (
                &["--ver"],
                "tool: option '--ver' is ambiguous; possibilities: '--verbose' '--version'\n",
            ),
            (&["--verbose=1"], "tool: option '--verbose' doesn't allow an argument\n"),
            (&["--ib-dev"], "tool: option '--ib-dev' requires an argument\n"),
        ] {
            assert_eq!(words(args), [Word::Bad(said.into())], "{args:?}");
        }
    }
}
