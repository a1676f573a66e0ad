//! Tests the commands that ask no question: check, schema, doctor, completions, man.

use crate::terminal::{Ended, Stage, example};
use serde_json::{Value, json};

fn run(args: &[&str]) -> Ended {
    Stage::new().run(args)
}

#[test]
fn a_good_input_is_valid() {
    let ended = run(&["check", &example("database")]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "valid: 1 question\n", ""));
}

#[test]
fn a_valid_input_that_could_be_better_is_advised() {
    let ended = run(&["check", &example("package-manager")]);
    let expected =
        "warning: questions[0].options[1].label: recommended but not first, better first\nvalid: 1 question\n";
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), expected));
}

#[test]
fn advice_can_be_read_by_a_program() {
    let ended = run(&["check", "--format", "json", &example("package-manager")]);
    let advice = "recommended but not first, better first";
    let warnings = json!([{"path": "questions[0].options[1].label", "advice": advice}]);
    assert_eq!(ended.json(), json!({"valid": true, "warnings": warnings, "mended": []}));
}

#[test]
fn an_invalid_input_is_told_everything() {
    let ended = run(&["check", "--json", r#"{"questions": [{"header": "abcdefghijklm", "options": 3}]}"#]);
    let expected = "askuser: invalid input
  questions[0].question: missing, must be a string
  questions[0].header: 13 characters, at most 12
  questions[0].options: a number, must be an array
  questions[0].multiSelect: missing, must be true or false
";
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(2), "", expected));
}

#[test]
fn violations_can_be_read_by_a_program() {
    let ended = run(&["check", "--format", "json", "--json", r#"{"questions": []}"#]);
    let violations = json!([{"path": "questions", "fact": "0 questions", "limit": "at least 1"}]);
    assert_eq!((ended.code, ended.json()), (Some(2), json!({"valid": false, "violations": violations})));
}

#[test]
fn check_says_what_a_repair_would_mend() {
    let input = r#"{"questions": "[{\"question\":\"Q?\",\"header\":\"H\",\"multiSelect\":false,\"options\":[{\"label\":\"A\",\"description\":\"a\"},{\"label\":\"B\",\"description\":\"b\"}]}]"}"#;
    let ended = run(&["check", "--repair", "--json", input]);
    assert_eq!(ended.stdout, "mended: questions: JSON sent as a string, parsed\nvalid: 1 question\n");
}

#[test]
fn check_reads_standard_input() {
    let json = std::fs::read(example("features")).unwrap();
    let ended = Stage::new().run_with(&["check"], &json);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "valid: 1 question\n"));
}

/// Checks that a shape is JSON, with the name and the schema where its provider expects them.
#[track_caller]
fn check_shape(shape: &str, name: &str, schema: &str) {
    let ended = run(&["schema", "--for", shape]);
    assert_eq!(ended.code, Some(0));
    let value = ended.json();
    assert_eq!(value.pointer(name), Some(&json!("AskUserQuestion")), "{value:#}");
    let questions = value.pointer(&format!("{schema}/properties/questions")).unwrap_or(&Value::Null);
    assert!(questions.get("items").is_some(), "{value:#}");
}

#[test]
fn the_schema_for_anthropic_has_its_shape() {
    check_shape("anthropic", "/name", "/input_schema");
}

#[test]
fn the_schema_for_openai_has_its_shape() {
    check_shape("openai", "/function/name", "/function/parameters");
}

#[test]
fn the_schema_for_the_responses_of_openai_has_its_shape() {
    check_shape("openai-responses", "/name", "/parameters");
}

#[test]
fn the_schema_for_gemini_has_its_shape_and_says_how_to_wrap_it() {
    check_shape("gemini", "/name", "/parameters");
    let stderr = run(&["schema", "--for", "gemini"]).stderr;
    assert!(stderr.starts_with("askuser: a request holds it as {\"tools\": [{\"functionDeclarations\": ["), "{stderr}");
}

#[test]
fn what_is_printed_for_anthropic_costs_at_most_1400_characters_and_1550_with_a_plan_mode() {
    let printed = |with: &[&str]| run(&[&["schema", "--for", "anthropic"], with].concat()).stdout.trim_end().to_owned();
    let plain = printed(&[]);
    let plan = printed(&["--with", "plan"]);
    assert!(plain.chars().count() <= 1_400 && plan.chars().count() <= 1_550, "{plain}\n{plan}");
    assert!(!plain.contains("ExitPlanMode") && plan.contains("ExitPlanMode"), "{plan}");
}

#[test]
fn a_preview_is_in_the_schema_only_if_asked_for() {
    assert!(!run(&["schema"]).stdout.contains("preview"));
    let with = run(&["schema", "--with", "plan,preview"]).json();
    let preview = "/properties/questions/items/properties/options/items/properties/preview/maxLength";
    assert_eq!(with.pointer(preview), Some(&json!(4_000)));
}

#[test]
fn the_schema_for_mcp_has_its_shape() {
    check_shape("mcp", "/name", "/inputSchema");
}

#[test]
fn the_schema_by_itself_is_that_of_the_input_alone() {
    let alone = run(&["schema", "--for", "json-schema"]).json();
    assert_eq!(alone, run(&["schema", "--for", "mcp"]).json()["inputSchema"]);
}

#[test]
fn the_schema_by_itself_is_the_default() {
    assert_eq!(run(&["schema"]).stdout, run(&["schema", "--for", "json-schema"]).stdout);
}

#[test]
fn an_unknown_shape_is_bad_usage_and_the_known_ones_are_listed() {
    let ended = run(&["schema", "--for", "cobol"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("anthropic") && ended.stderr.contains("gemini"), "{}", ended.stderr);
}

#[test]
fn the_doctor_finds_nobody_without_a_terminal() {
    let ended = run(&["doctor"]);
    assert_eq!(ended.code, Some(3));
    let expected = "✘ No person can be asked: there is no terminal here.\n  fix: run it in a terminal, or ask in the inbox: --via inbox\n\n";
    assert!(ended.stdout.starts_with(expected), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("\n  terminal      none: this process has no controlling terminal"),
        "{}",
        ended.stdout
    );
    // Without a prompt, the report contains no drawing and no background.
    assert!(!["drawn", "colours", "background"].iter().any(|word| ended.stdout.contains(word)), "{}", ended.stdout);
}

#[test]
fn the_doctor_finds_the_terminal_whatever_the_streams_are() {
    let stage = Stage::new();
    let ended = stage.shell("exec askuser doctor </dev/null >out 2>err").finish();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stdout.starts_with("✔ Questions are asked at this terminal.\n\n✔ terminal      /dev/tty opens"),
        "{}",
        ended.stdout
    );
    assert_eq!(ended.raw.len(), 0);
}

#[test]
fn the_doctor_tells_lines_from_a_screen() {
    let ended = Stage::new().env("TERM", "dumb").shell("exec askuser doctor >out").finish();
    assert!(ended.stdout.contains("                line by line, because TERM is dumb\n"), "{}", ended.stdout);
}

#[test]
fn the_doctor_tells_what_a_policy_would_do() {
    let stage = Stage::new().file("answers.json", "{}");
    let ended = stage.run(&["doctor", "--headless", "recommended", "--answers", "answers.json"]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("✔ answers file  answers.json: "), "{}", ended.stdout);
    assert!(ended.stdout.starts_with("✔ No person is asked: the recommended options are chosen (headless).\n"));
    let ended = stage.run(&["doctor", "--headless", "fail"]);
    let expected = "✘ No person is asked: headless is fail.\n  fix: leave headless out (flag, --headless)\n";
    assert!(ended.code == Some(3) && ended.stdout.starts_with(expected), "{}", ended.stdout);
}

#[test]
fn the_doctor_tells_where_questions_of_mcp_agents_go_whatever_via_says() {
    let says = |args: &[&str]| Stage::new().run(&[&["doctor"], args].concat()).stdout;
    let inbox = "✔ MCP agents    their questions wait in the inbox, and in the agent's own dialog where it has one; answer them with `askuser inbox`\n";
    for args in [&[][..], &["--via", "terminal"], &["--via", "inbox"]] {
        assert!(says(args).contains(inbox), "{args:?}: {}", says(args));
    }
    assert!(says(&[]).contains("used by mcp and hook; ask and agent use it with --via inbox\n"), "{}", says(&[]));
    assert!(says(&["--headless", "fail"]).contains("✘ MCP agents    their questions are not asked"));
    assert!(
        says(&["--headless", "recommended"]).contains("MCP agents    get the recommended options; no person is asked")
    );
}

#[test]
fn the_doctor_says_what_calls_the_person_and_that_nothing_does() {
    let says = |stage: &Stage, args: &[&str]| stage.run(&[&["doctor", "--via", "inbox"], args].concat()).stdout;
    let bus = Stage::new().env("XDG_RUNTIME_DIR", "/nowhere").env("TMUX_TMPDIR", "/nowhere");
    assert!(
        says(&bus, &[]).contains("✘ new questions nothing calls you when an agent without a dialog asks"),
        "{}",
        says(&bus, &[])
    );
    let told = says(&bus, &["--on-question", "true"]);
    assert!(told.contains("✔ new questions your on_question command calls you\n"), "{told}");
    let desktop = bus.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    let desktop = with_program(desktop, "notify-send", "#!/bin/sh\n");
    let program = env!("CARGO_BIN_EXE_askuser");
    let told = desktop.shell(&format!("exec {program} doctor >out")).finish().stdout;
    assert!(told.contains("✔ new questions a desktop notification calls you\n"), "{told}");
}

/// Returns the test environment with this program first on `PATH`.
fn with_program(stage: Stage, name: &str, script: &str) -> Stage {
    let file = format!("bin/{name}");
    let stage = stage.file(&file, script);
    std::fs::set_permissions(stage.path(&file), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", stage.path("bin").display());
    stage.env("PATH", &path)
}

#[test]
fn a_check_of_the_doctor_that_hangs_has_a_time_limit() {
    let stage = with_program(Stage::new(), "tmux", "#!/bin/sh\nexec sleep 20\n");
    let program = env!("CARGO_BIN_EXE_askuser");
    let ended = stage.shell(&format!("exec {program} doctor >out")).finish();
    assert!(ended.stdout.contains("✘ MCP agents    not checked: no result within 5 s\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("inbox         "), "the other checks have theirs: {}", ended.stdout);
}

#[test]
fn the_doctor_wraps_at_words_under_the_column_they_began_in() {
    let terminal = Stage::new().size(60, 60).shell("askuser doctor; echo done");
    terminal.wait_for("done");
    let expected = "
✔ MCP agents    their questions wait in the inbox, and in
                the agent's own dialog where it has one;
                answer them with `askuser inbox`
";
    assert!(terminal.screen().contains(expected), "{}", terminal.screen());
}

#[test]
fn the_doctor_says_why_the_prompt_looks_as_it_does() {
    let says = |variables: &[(&str, &str)], args: &[&str], words: &str| {
        let stage = variables.iter().fold(Stage::new(), |stage, (name, value)| stage.env(name, value));
        let stdout = stage.askuser(&[&["doctor"], args].concat(), "").finish().stdout;
        assert!(stdout.contains(&format!("                {words}\n")), "{words}:\n{stdout}");
    };
    says(&[("COLORFGBG", "")], &[], "unknown background, because COLORFGBG is not set");
    says(&[("COLORFGBG", "")], &[], "the terminal is asked for its background after the first frame");
    says(&[("COLORFGBG", "blue")], &[], "unknown background, because COLORFGBG is blue, no colour from 0 to 15");
    says(&[("COLORFGBG", "15;0")], &[], "dark background, because COLORFGBG is 15;0");
    says(&[("COLORFGBG", "15;0")], &["--theme", "light"], "light background, by the setting theme (flag, --theme)");
    says(&[("NO_COLOR", "1")], &[], "no colours, because NO_COLOR is 1");
    says(&[("COLORTERM", ""), ("TERM", "xterm-256color")], &[], "256 colours, because TERM is xterm-256color");
    says(&[("TERM", "dumb")], &[], "line by line, because TERM is dumb");
    says(&[("ACCESSIBLE", "1")], &[], "line by line, because ACCESSIBLE is 1");
    says(&[], &["--plain"], "line by line, by the setting plain (flag, --plain)");
}

#[test]
fn check_names_keys_that_nobody_reads_and_options_that_read_like_other() {
    let option = |label: &str| json!({"label": label, "description": "d"});
    let options = [option("A"), option("Something else")];
    let question = json!({"question": "Q?", "header": "H", "options": options, "multiSelect": false, "id": 1});
    let ended = run(&["check", "--json", &json!({"questions": [question]}).to_string()]);
    let expected = "warning: questions[0]: unknown key \"id\" is ignored
warning: questions[0].options[1].label: reads like Other, which is always offered; better left out
valid: 1 question
";
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), expected));
}

#[test]
fn the_doctor_does_not_promise_an_inbox_that_would_be_refused() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::new();
    let state = stage.path("open");
    std::fs::create_dir(&state).expect("a folder");
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o777)).expect("a mode");
    let stage = stage.env("XDG_STATE_HOME", &state.display().to_string());
    let ended = stage.run(&["doctor", "--via", "inbox"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(ended.stdout.contains("open has mode 777, must not be writable"), "{}", ended.stdout);
    assert!(ended.stdout.starts_with("✘ No person can be asked: questions for the inbox fail.\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("✘ MCP agents    cannot ask: "), "{}", ended.stdout);
}

#[test]
fn the_doctor_finds_an_answers_file_that_cannot_be_read() {
    let ended = run(&["doctor", "--answers", "nowhere.json"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stdout.starts_with("✘ Every question fails: answers: cannot open nowhere.json"), "{}", ended.stdout);
    assert!(ended.stdout.contains("how it would be without these settings"), "{}", ended.stdout);
}

#[test]
fn the_doctor_and_config_tell_of_settings_that_are_broken() {
    let broken = "\"\\u001b]0;pwned\\u0007x\" = 1";
    let project = Stage::new().file("askuser.toml", broken).run(&["doctor"]);
    assert!(project.stderr.contains("x is ignored, there is no such setting"), "{}", project.stderr);
    assert!(!project.stderr.contains('\u{1b}'), "{}", project.stderr);
    let stage = Stage::new().file("config/askuser/askuser.toml", broken);
    let ended = stage.run(&["doctor"]);
    assert!(
        ended.stdout.starts_with("✘ Every question fails: ") && ended.stdout.contains("unknown setting x"),
        "{}",
        ended.stdout
    );
    assert!(!ended.stdout.contains('\u{1b}') && !stage.run(&["config"]).stderr.contains('\u{1b}'));
    let ended = stage.run(&["config", "--color", "16"]);
    assert!(ended.stdout.contains("color           16              flag, --color\n"), "{}", ended.stdout);
    assert!(ended.code == Some(2) && ended.stderr.contains("unknown setting x\nhint: "), "{}", ended.stderr);
    let ended = Stage::new().env("ASKUSER_KEY_DELAY", "soon").run(&["config"]);
    assert!(ended.stdout.contains("soon") && ended.stderr.contains("key_delay: \"soon\""), "{}", ended.stdout);
    assert_eq!(ended.code, Some(2));
}

#[test]
fn help_wraps_at_words_at_the_width_of_the_terminal() {
    for (command, columns) in [("askuser --help", 80), ("askuser ask --help", 80), ("askuser agent --help", 60)] {
        let terminal = Stage::new().size(columns, 200).shell(command);
        terminal.wait_for("130  interrupted");
        let screen = terminal.screen();
        let long = screen.lines().find(|line| line.chars().count() > usize::from(columns));
        assert_eq!(long, None, "{command}");
        let text = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        let whole = Stage::new().shell(&format!("{command} >out")).finish().stdout;
        assert_eq!(text.trim(), whole.split_whitespace().collect::<Vec<_>>().join(" "), "{command}");
    }
}

#[test]
fn every_command_has_its_help_on_standard_output() {
    let help = run(&["--help"]).stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        let ended = run(&[command, "--help"]);
        assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)), "{command}");
        let usage = format!("Usage: askuser {command}");
        assert!(ended.stdout.contains(&usage), "{}", ended.stdout);
    }
}

#[test]
fn there_are_completions_for_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ended = run(&["completions", shell]);
        assert_eq!(ended.code, Some(0), "{shell}");
        assert!(ended.stdout.contains("askuser") && ended.stdout.contains("headless"), "{shell}: {}", ended.stdout);
        assert!(ended.stdout.len() > 1000, "{shell}");
    }
}

#[test]
fn the_completions_for_bash_are_a_script_that_bash_reads() {
    let stage = Stage::new();
    stage.run(&["completions", "bash"]);
    let ended = stage.shell("bash -n out 2>err && bash -c '. ./out; complete -p askuser' >complete 2>&1").finish();
    assert_eq!((ended.code, stage.read("err").as_str()), (Some(0), ""), "{}", stage.read("complete"));
}

#[test]
fn there_is_a_manual_page() {
    let ended = run(&["man"]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains(".TH askuser 1"), "{}", ended.stdout);
    assert!(ended.stdout.contains("130"), "the exit codes are documented: {}", ended.stdout);
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    for command in ["ask", "check", "schema", "demo", "doctor", "config", "completions", "man"] {
        let ended = run(&["man", command]);
        assert_eq!(ended.code, Some(0), "{command}");
        assert!(ended.stdout.contains(".TH"), "{command}: {}", ended.stdout);
    }
}

#[test]
fn a_manual_page_of_nothing_is_an_error() {
    let ended = run(&["man", "nothing"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(2), "askuser: no command \"nothing\"\nhint: `askuser --help` lists the commands\n")
    );
}

#[test]
fn help_documents_the_exit_codes() {
    let ended = run(&["--help"]);
    assert_eq!(ended.code, Some(0));
    for line in ["0    answered", "2    bad input or usage", "3    no person can be asked", "130  interrupted"] {
        assert!(ended.stdout.contains(line), "{}", ended.stdout);
    }
}

#[test]
fn the_version_is_that_of_the_crate() {
    assert_eq!(run(&["--version"]).stdout, format!("askuser {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn output_that_nobody_reads_to_the_end_is_no_error() {
    let stage = Stage::new();
    let ended = stage.shell("(askuser man 2>err; echo $? >code) | head -c 1").finish();
    assert_eq!((stage.read("code").trim(), stage.read("err").as_str(), ended.code), ("0", "", Some(0)));
}

#[test]
fn bash_completes_the_values_of_options_and_pending_ids_and_nothing_hidden() {
    let stage = Stage::new();
    let id = crate::inbox::detached(&stage, "database", &[]);
    stage.run(&["completions", "bash"]);
    let completed = |words: &str| {
        let script = format!(
            ". ./out; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _askuser askuser \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        std::fs::write(stage.path("complete.sh"), script).expect("a file");
        stage.shell("bash complete.sh >completed 2>&1").finish();
        stage.read("completed").trim().to_owned()
    };
    assert_eq!(completed("askuser ask --theme ''"), "auto dark light contrast");
    assert_eq!(completed("askuser ask --via ''"), "policy terminal inbox terminal,inbox");
    assert_eq!(completed("askuser agent --permissions a"), "ask accept-edits allow");
    assert_eq!(completed("askuser man che"), "check");
    for command in ["answer", "wait", "withdraw"] {
        assert_eq!(completed(&format!("askuser {command} {}", &id[..4])), id, "{command}");
    }
    assert!(!completed("askuser answer -").contains("unbidden"), "{}", completed("askuser answer -"));
}
