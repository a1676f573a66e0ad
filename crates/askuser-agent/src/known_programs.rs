//! Which programs are known, and what of them a rule by prefix lets through.
//!
//! What is not listed here is asked for: a program or subcommand whose effect is not known, and every option that is not known
//! to leave programs, files and settings alone. Lists of what is harmful would always lack something.

/// A program that is known well enough to let through its plain commands.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) commands: &'static [Command],
}

/// What rules can be about, with the options that may follow.
pub(crate) struct Command {
    /// The words after the program, `NAME` for any one word. Empty: the program alone.
    pub(crate) words: &'static str,
    /// Options that are harmless whatever their value, as they are typed.
    options: &'static [&'static str],
    /// The same for what stands after `--`, which is another program's.
    after_dashes: &'static str,
}

const fn command(words: &'static str, options: &'static [&'static str]) -> Command {
    Command { words, options, after_dashes: "" }
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "cargo",
        commands: &[
            Command { words: "test", options: &[CARGO_BUILD, "--doc --no-run"], after_dashes: TEST_BINARY },
            command("build", &[CARGO_BUILD]),
            command("check", &[CARGO_BUILD]),
            Command {
                words: "clippy",
                options: &[CARGO_BUILD, "--no-deps"],
                after_dashes: "-D -W -A -F -Dwarnings --deny --warn --allow --forbid",
            },
            Command { words: "fmt", options: &["-p --package --all --check -q -v"], after_dashes: "--check" },
            command("doc", &[CARGO_BUILD, "--no-deps --document-private-items"]),
            Command { words: "bench", options: &[CARGO_BUILD, "--no-run"], after_dashes: TEST_BINARY },
            command("tree", &[CARGO_GRAPH, "-p --package --workspace -i --invert -e --edges -d --duplicates --depth"]),
            command("metadata", &[CARGO_GRAPH, "--format-version --no-deps"]),
            Command {
                words: "nextest run",
                options: &[
                    CARGO_BUILD,
                    "-E --no-capture --nocapture --retries --run-ignored --no-tests --status-level",
                ],
                after_dashes: TEST_BINARY,
            },
        ],
    },
    Program {
        name: "git",
        commands: &[
            command("status", &["-s --short -b --branch --porcelain -u -uno -uall --untracked-files --ignored -z"]),
            command("diff", &[GIT_DIFF, "--cached --staged --merge-base"]),
            command("log", &[GIT_DIFF, GIT_LOG]),
            command("show", &[GIT_DIFF, GIT_LOG]),
            command("blame", &["-L -w -s -e -l --date --porcelain"]),
            command(
                "grep",
                &[
                    "-n --line-number -i --ignore-case -l --files-with-matches -c --count -w --word-regexp -h -H -v -e -E -F -P",
                    "-A -B -C --extended-regexp --fixed-strings --cached --untracked",
                ],
            ),
            command(
                "ls-files",
                &["-c -d -m -o -s -z --cached --deleted --modified --others --stage --exclude-standard"],
            ),
            command(
                "rev-parse",
                &[
                    "--abbrev-ref --short --verify -q --quiet --show-toplevel --show-prefix --git-dir --is-inside-work-tree",
                ],
            ),
            command("describe", &["--tags --all --always --dirty --long --abbrev --exact-match --contains"]),
            command("shortlog", &["-s --summary -n --numbered -e --email --since --until --no-merges --all"]),
            command("add", &["-A --all -u --update -n --dry-run -v --verbose -N --intent-to-add"]),
        ],
    },
    Program {
        name: "go",
        commands: &[
            command(
                "test",
                &[
                    "-v -run -skip -count -race -short -timeout -bench -benchmem -benchtime -cover -failfast -parallel -p -cpu",
                    "-list -json -shuffle -tags",
                ],
            ),
            command("build", &["-v -race -tags -trimpath -p"]),
            command("vet", &["-v -json -tags"]),
            command("fmt", &["-n -x"]),
            command("list", &["-f -json -deps -test -e -tags"]),
        ],
    },
    Program { name: "npm", commands: &[command("test", &[NPM]), command("run NAME", &[NPM])] },
    // These two hand the options after a script's name to the script.
    Program { name: "pnpm", commands: &[command("test", &[]), command("run NAME", &[])] },
    Program { name: "yarn", commands: &[command("test", &[]), command("run NAME", &[])] },
    Program {
        name: "gh",
        commands: &[
            command("pr view", &["-c --comments --json"]),
            command("pr list", &[GH_LIST, "-B --base -H --head -d --draft"]),
            command("pr status", &["--json"]),
            command("pr checks", &["--json --required"]),
            command("pr diff", &["--name-only --patch --color"]),
            command("issue view", &["-c --comments --json"]),
            command("issue list", &[GH_LIST]),
            command("run list", &["-L --limit -b --branch -s --status --json"]),
        ],
    },
    Program {
        name: "ls",
        commands: &[command("", &["-l -a -A -h -R -r -t -S -d -F -i -s -n -1 --all --almost-all --recursive --color"])],
    },
    Program { name: "wc", commands: &[command("", &["-l -w -c -m -L --lines --words --bytes --chars"])] },
    Program {
        name: "du",
        commands: &[command("", &["-s -h -a -c -d -k -m --summarize --human-readable --all --total --max-depth"])],
    },
    Program {
        name: "cat",
        commands: &[command("", &["-n -b -s -v -A -E -T -e -t --number --squeeze-blank --show-all"])],
    },
    Program { name: "head", commands: &[command("", &["-n -c -q -v --lines --bytes --quiet"])] },
    // Not `-f`: it never ends.
    Program { name: "tail", commands: &[command("", &["-n -c -q -v --lines --bytes --quiet"])] },
    // Not `-R`, which follows links.
    Program {
        name: "grep",
        commands: &[command("", &[SEARCH, "-h -r -L -E -G -s --recursive --include --exclude --exclude-dir"])],
    },
    // Not `-z` and `--pre`, which run programs, nor `-L`, which follows links.
    Program {
        name: "rg",
        commands: &[command(
            "",
            &[SEARCH, "-g -t -T -S -U -u --glob --type --files --hidden --no-ignore --smart-case"],
        )],
    },
    // Not `-exec`, `-delete`, `-fprint` and `-L`.
    Program {
        name: "find",
        commands: &[command(
            "",
            &[
                "-name -iname -path -ipath -regex -type -size -mtime -mmin -newer -empty -maxdepth -mindepth -not -prune",
                "-print -print0",
            ],
        )],
    },
    // Not `-o`, `-T` and `--compress-program`.
    Program {
        name: "sort",
        commands: &[command("", &["-n -r -u -k -t -f -b -d -h -V -s --numeric-sort --reverse --unique --key"])],
    },
    Program { name: "cut", commands: &[command("", &["-d -f -c -b -s --delimiter --fields --characters"])] },
    // Not `-r`, which follows links.
    Program {
        name: "diff",
        commands: &[command("", &["-u -U -q -w -b -B -i -y --unified --brief --color --side-by-side"])],
    },
    Program { name: "stat", commands: &[command("", &["-c -f -t --format --file-system --terse"])] },
    Program { name: "file", commands: &[command("", &["-b -i --brief --mime --mime-type"])] },
    Program { name: "tree", commands: &[command("", &["-a -d -L -f -h -s -I -P --dirsfirst"])] },
    Program { name: "pytest", commands: &[command("", &[PYTEST])] },
    Program { name: "python", commands: &[command("-m pytest", &[PYTEST])] },
    Program { name: "python3", commands: &[command("-m pytest", &[PYTEST])] },
];

const SEARCH: &str = "-n -i -l -c -w -x -v -o -H -q -m -A -B -C -e -F -P --line-number --ignore-case --files-with-matches --count \
     --word-regexp --only-matching --fixed-strings --max-count --after-context --before-context --context --color";

const PYTEST: &str = "-v -q -x -s -k -m -l --verbose --quiet --exitfirst --maxfail --lf --last-failed --ff --failed-first --nf \
     --tb --co --collect-only --durations --color --no-header --no-summary -ra -rA -rf -rs";

/// Not `--target`: it may name a file that names a linker.
const CARGO_BUILD: &str = "-p --package --workspace --all --exclude --lib --bin --bins --example --examples --test --tests \
     --bench --benches --all-targets -F --features --all-features --no-default-features -r --release --profile -j --jobs \
     --keep-going --no-fail-fast --locked --offline --frozen -q --quiet -v --verbose --message-format --color";

const CARGO_GRAPH: &str = "-F --features --all-features --no-default-features --locked --offline --frozen -q --quiet";

const TEST_BINARY: &str = "--nocapture --no-capture --show-output --exact --ignored --include-ignored --test-threads --skip \
     --list -q --quiet --color";

const GIT_DIFF: &str = "-p --patch --no-patch -s --stat --shortstat --numstat --summary --name-only --name-status -U --unified \
     -M -w -b -R --ignore-all-space --ignore-space-change --word-diff --color --no-color --check --exit-code --quiet \
     --diff-filter -z";

const GIT_LOG: &str = "-n --max-count --skip --oneline --graph --decorate --all --branches --tags --format --pretty --date \
     --abbrev-commit --author --grep -i -E --since --until --after --before --follow --reverse --merges --no-merges \
     --first-parent -S -G -L";

const NPM: &str = "-s --silent --if-present -w --workspace --workspaces";

const GH_LIST: &str = "-L --limit -s --state -A --author -a --assignee -l --label --json";

/// The program, if it is known. One that is named by its path may be any program.
pub(crate) fn known(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

impl Program {
    /// The command that these words after the program begin with.
    pub(crate) fn command(&self, words: &[String]) -> Option<&'static Command> {
        let begins = |command: &&Command| {
            let mut given = words.iter();
            command.words.split_whitespace().all(|wanted| match given.next() {
                Some(word) if wanted == "NAME" => !word.starts_with('-'),
                word => word.is_some_and(|word| word == wanted),
            })
        };
        self.commands.iter().find(begins)
    }
}

impl Command {
    /// How many words after the program it has.
    pub(crate) fn len(&self) -> usize {
        self.words.split_whitespace().count()
    }

    /// The first of the words that follow which is an option not known to be harmless.
    pub(crate) fn unknown_option<'a>(&self, words: &'a [String]) -> Option<&'a String> {
        let dashes = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let is_unknown = |(i, word): &(usize, &String)| match i.cmp(&dashes) {
            std::cmp::Ordering::Less => !is_harmless(word, self.options),
            std::cmp::Ordering::Equal => false,
            std::cmp::Ordering::Greater => !is_harmless(word, &[self.after_dashes]),
        };
        words.iter().enumerate().find(is_unknown).map(|(_, word)| word)
    }
}

fn is_harmless(word: &str, options: &[&str]) -> bool {
    // A compiler reads options from the file that is named after an @.
    if !word.starts_with(['-', '@']) {
        return true;
    }
    let is_listed =
        |wanted: &str| options.iter().any(|options| options.split_whitespace().any(|known| known == wanted));
    if is_listed(word.split('=').next().unwrap_or(word)) {
        return true;
    }
    // Letters together, or before a number: each is an option of its own or the value of the one before it.
    let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
    letters.is_some_and(|letters| letters.chars().all(|c| c.is_ascii_digit() || is_listed(&format!("-{c}"))))
}
