//! An error about arguments looks like every other failure: the field, the fact and the limit, then the remedy.

use crate::terminal::{Stage, example};

#[track_caller]
fn check(args: &[&str], stderr: &str) {
    let ended = Stage::new().file("questions.json", "{}").run(args);
    assert_eq!((ended.stderr.as_str(), ended.stdout.as_str(), ended.code), (stderr, "", Some(2)), "{args:?}");
}

#[test]
fn a_misspelt_command_is_told_the_one_that_may_be_meant() {
    check(&["aks"], "askuser: no command \"aks\"\nhint: did you mean ask? `askuser --help` lists the commands\n");
    check(&["chekc"], "askuser: no command \"chekc\"\nhint: did you mean check? `askuser --help` lists the commands\n");
    check(&["frobnicate"], "askuser: no command \"frobnicate\"\nhint: `askuser --help` lists the commands\n");
    check(&[""], "askuser: no command \"\"\nhint: `askuser --help` lists the commands\n");
}

#[test]
fn a_file_in_the_place_of_a_command_is_told_how_to_ask_it() {
    check(
        &["questions.json"],
        "askuser: no command \"questions.json\"\nhint: to ask the questions in it: askuser ask questions.json\n",
    );
}

#[test]
fn an_option_before_a_command_is_told_where_it_goes() {
    check(
        &["-q", "Which?", "-o", "A"],
        "askuser: -q: unknown option\nhint: options follow a command, as in: askuser ask -q \"Which?\" -o A -o B\n",
    );
}

#[test]
fn a_misspelt_option_is_told_the_one_that_may_be_meant() {
    check(
        &["ask", "--colour", "none"],
        "askuser: --colour: unknown option\nhint: did you mean --color? `askuser ask --help` lists what it takes\n",
    );
    check(
        &["agent", "--modle", "x"],
        "askuser: --modle: unknown option\nhint: did you mean --model? `askuser agent --help` lists what it takes\n",
    );
    check(
        &["doctor", "--xyzzy"],
        "askuser: --xyzzy: unknown option\nhint: `askuser doctor --help` lists what it takes\n",
    );
}

#[test]
fn a_word_too_many_is_named() {
    check(
        &["ask", "a.json", "b, c"],
        "askuser: \"b, c\": one argument too many\nhint: `askuser ask --help` lists what it takes\n",
    );
}

#[test]
fn options_that_exclude_each_other_are_both_named() {
    let file = example("database");
    check(&["ask", &file, "--json", "{}"], "askuser: FILE and --json: cannot be used together\n");
    check(&["ask", "--timeout", "1s", "--timeout", "2s"], "askuser: --timeout: given twice, at most once\n");
}

#[test]
fn a_value_is_named_with_what_it_must_be() {
    check(&["completions", "tcsh"], "askuser: SHELL: \"tcsh\", must be bash|elvish|fish|powershell|zsh\n");
    check(&["schema", "--with", "plan,x"], "askuser: --with: \"x\", must be plan|preview\n");
    check(
        &["ask", "--json"],
        "askuser: --json: no value, needs INPUT\nhint: `askuser ask --help` lists what it takes\n",
    );
    for number in ["0", "x"] {
        let message = format!(
            "askuser: --max-requests: {number:?}, must be a whole number above 0\nhint: `askuser agent --help` lists what it takes\n"
        );
        check(&["agent", "--max-requests", number], &message);
    }
}

#[test]
fn a_setting_without_its_value_is_told_what_it_takes() {
    check(
        &["ask", "--headless"],
        "askuser: --headless: no value, needs fail|recommended\nhint: `askuser ask --help` lists what it takes\n",
    );
    let below_zero =
        "askuser: timeout: \"-5\" (from flag, --timeout), must be a duration above 0, such as 30s, 5m or 1h\n";
    check(&["ask", "--timeout", "-5"], below_zero);
}

#[test]
fn an_option_of_another_command_is_not_taken_for_help() {
    check(
        &["check", "--headless", "fail"],
        "askuser: --headless: unknown option\nhint: `askuser check --help` lists what it takes\n",
    );
}

#[test]
fn an_answers_file_that_cannot_be_used_is_called_that() {
    let stage = Stage::new().file("bad.json", "[1").file("bad.toml", "x =");
    let stderr = |file: &str| stage.run(&["ask", &example("database"), "--answers", file]).stderr;
    assert!(
        stderr("none.json")
            .starts_with("askuser: answers: cannot open none.json: No such file or directory\nhint: it is a ")
    );
    assert!(stderr("bad.json").starts_with("askuser: answers: bad.json is not JSON ("), "{}", stderr("bad.json"));
    assert!(stderr("bad.toml").starts_with("askuser: answers: bad.toml: TOML parse error"), "{}", stderr("bad.toml"));
}

#[test]
fn what_belongs_to_a_question_is_told_how_to_give_one() {
    check(
        &["ask", "-o", "A"],
        "askuser: -q is missing\nhint: -o, -H and --multi belong to a question: askuser ask -q \"Which?\" -o A -o B\n",
    );
    check(&["completions"], "askuser: SHELL is missing\nhint: `askuser completions --help` lists what it takes\n");
}

#[test]
fn at_a_terminal_messages_wrap_at_words_and_details_are_left_as_they_are() {
    let terminal = Stage::new().size(30, 24).shell("askuser ask nowhere.json; echo; askuser ask -q '' -o A; echo done");
    terminal.wait_for("done");
    let expected = "askuser: cannot open
nowhere.json: No such file or
directory
hint: give a FILE, - (standard
input), --json '{…}' or -q
\"Which?\" -o A -o B

askuser: invalid input,
nothing was asked
  -q: empty, at least 1
  -o: 1 option, at least 2, ea
ch as -o \"LABEL: DESCRIPTION\"
done";
    assert_eq!(terminal.screen(), expected);
}

#[test]
fn a_folder_in_the_place_of_the_store_is_not_told_to_change_its_mode() {
    check(&["inbox", "--store", "/"], "askuser: cannot open /: it is no regular file, must be one\n");
}

#[test]
fn the_commands_of_the_inbox_speak_like_the_others() {
    check(&["inbx"], "askuser: no command \"inbx\"\nhint: did you mean inbox? `askuser --help` lists the commands\n");
    check(&["wait"], "askuser: ID is missing\nhint: `askuser wait --help` lists what it takes\n");
    check(&["log", "x"], "askuser: \"x\": one argument too many\nhint: `askuser log --help` lists what it takes\n");
}

#[test]
fn a_small_v_is_told_the_large_one() {
    check(&["-v"], "askuser: -v: unknown option\nhint: did you mean -V, which prints the version?\n");
}

#[test]
fn askuser_alone_shows_three_things_to_try_in_24_rows_of_80_columns() {
    let terminal = Stage::new().shell("askuser; echo $?");
    terminal.wait_for("\n2");
    let screen = terminal.screen();
    assert!(
        screen.starts_with("askuser lets an AI agent ask you a question"),
        "its first row is still there:\n{screen}"
    );
    assert_eq!(screen.lines().filter(|line| line.starts_with("  askuser ")).count(), 3, "{screen}");
    assert!(screen.contains("completions, man"), "every command is named:\n{screen}");
}
