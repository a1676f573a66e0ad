//! Tests `askuser init`: it changes files of other programs only with consent, and restores them exactly.

use crate::terminal::{Stage, Terminal};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const GEMINI: &str = "{\n    // mine\n    \"theme\": \"x\",\n    \"mcpServers\": {}\n}";

/// Returns a test environment with its own home folder, which contains a file of Gemini.
fn stage() -> Stage {
    let stage = Stage::new();
    fs::create_dir_all(stage.path("home/.gemini")).unwrap();
    fs::write(stage.path("home/.gemini/settings.json"), GEMINI).unwrap();
    let home = stage.path("home").display().to_string();
    let state = stage.path("state").display().to_string();
    stage.env("HOME", &home).env("XDG_STATE_HOME", &state).env("XDG_CONFIG_HOME", "")
}

fn gemini(stage: &Stage) -> String {
    stage.read("home/.gemini/settings.json")
}

/// Returns the clients that the help lists.
fn clients(stage: &Stage) -> Vec<String> {
    let help = stage.run(&["init", "--help"]).stdout;
    let (_, list) = help.split_once("[possible values: ").expect("a list");
    let (list, _) = list.split_once(']').expect("its end");
    let clients: Vec<String> = list.split(',').map(|client| client.trim().to_owned()).collect();
    assert!(clients.len() > 10, "{clients:?}");
    clients
}

fn init(stage: &Stage, args: &[&str]) -> Terminal {
    stage.askuser(&[&["init", "--key-delay", "0", "--success-flash", "0"], args].concat(), "")
}

#[test]
fn a_change_is_shown_and_made_when_agreed_to_and_undone_to_the_byte() {
    let stage = stage();
    let mut terminal = init(&stage, &["gemini"]);
    terminal.wait_for("+        \"askuser\": {");
    terminal.wait_for("Add askuser to Gemini CLI?");
    assert_eq!(gemini(&stage), GEMINI, "changed before anybody agreed");
    terminal.keys("<pgdn>");
    terminal.wait_for("enter select");
    terminal.keys("1");
    let ended = terminal.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let changed = gemini(&stage);
    assert!(changed.starts_with("{\n    // mine\n    \"theme\": \"x\",\n    \"mcpServers\": {"), "{changed}");
    assert!(changed.contains("\"trust\": true"), "{changed}");
    let again = stage.run(&["init", "gemini", "--yes"]);
    assert!(again.code == Some(0) && again.stderr.contains("Gemini CLI is set up already"), "{}", again.stderr);
    let removed = stage.run(&["init", "gemini", "--remove", "--yes"]);
    assert_eq!((removed.code, gemini(&stage).as_str()), (Some(0), GEMINI), "{}", removed.stderr);
}

#[test]
fn a_user_who_does_not_agree_keeps_the_file_as_it_is() {
    for keys in ["2", "<esc>", "dc<down><enter>"] {
        let stage = stage();
        let mut terminal = init(&stage, &["gemini"]);
        terminal.wait_for("Add askuser to Gemini CLI?");
        terminal.keys(keys);
        let ended = terminal.finish();
        assert_eq!((ended.code, gemini(&stage).as_str()), (Some(1), GEMINI), "{keys}: {}", ended.stderr);
    }
}

#[test]
fn without_a_terminal_nothing_is_changed_unless_told_so() {
    let stage = stage();
    let ended = stage.run(&["init", "gemini"]);
    assert_eq!((ended.code, gemini(&stage).as_str()), (Some(3), GEMINI));
    assert!(ended.stderr.contains("--yes"), "{}", ended.stderr);
    let printed = stage.run(&["init", "gemini", "--print"]);
    assert_eq!((printed.code, gemini(&stage).as_str()), (Some(0), GEMINI));
    assert!(printed.stdout.contains("+        \"askuser\": {"), "{}", printed.stdout);
}

#[test]
fn every_client_is_set_up_and_everything_is_gone_again_afterwards() {
    let stage = stage();
    fs::remove_dir_all(stage.path("home/.gemini")).unwrap();
    let clients = clients(&stage);
    for client in &clients {
        let ended = stage.run(&["init", client, "--yes"]);
        assert_eq!(ended.code, Some(0), "{client}: {}", ended.stderr);
        let again = stage.run(&["init", client, "--print"]);
        assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{client} is not idempotent");
    }
    // The last client comes first. Two of them share a folder, which the setup of the first has created.
    for client in clients.iter().rev() {
        let ended = stage.run(&["init", client, "--remove", "--yes"]);
        assert_eq!(ended.code, Some(0), "{client}: {}", ended.stderr);
    }
    let left: Vec<_> = fs::read_dir(stage.path("home")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_real_file_behind_a_link_is_changed_and_keeps_its_mode() {
    let stage = stage();
    let link = stage.path("home/.gemini/settings.json");
    let real = stage.path("dotfiles.json");
    fs::rename(&link, &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    assert_eq!(stage.run(&["init", "gemini", "--yes"]).code, Some(0));
    assert!(link.is_symlink() && fs::read_to_string(&real).unwrap().contains("askuser"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(stage.run(&["init", "gemini", "--yes", "--remove"]).code, Some(0));
    assert_eq!(fs::read_to_string(&real).unwrap(), GEMINI);
}

#[test]
fn a_broken_file_is_named_with_line_and_column_and_left_alone() {
    let stage = stage().file("home/.gemini/settings.json", "{\n  \"a\": oops\n}\n");
    let ended = stage.run(&["init", "gemini", "--yes"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("settings.json is broken at line 2, column 8: "), "{}", ended.stderr);
    assert_eq!(gemini(&stage), "{\n  \"a\": oops\n}\n");
}

#[test]
fn a_projects_file_names_the_program_and_not_where_it_is_here() {
    let stage = stage();
    assert_eq!(stage.run(&["init", "claude", "--project", "--yes"]).code, Some(0));
    let file: Value = serde_json::from_str(&stage.read(".mcp.json")).unwrap();
    assert_eq!(file["mcpServers"]["askuser"]["command"], "askuser");
    let cline = stage.run(&["init", "cline", "--project", "--yes"]);
    assert!(cline.stderr.contains("Cline has no file for a project"), "{}", cline.stderr);
}

#[test]
fn a_file_of_another_user_where_ours_would_be_is_left_alone() {
    let stage = stage();
    fs::create_dir_all(stage.path("home/.continue/mcpServers")).unwrap();
    let stage = stage.file("home/.continue/mcpServers/askuser.yaml", "name: mine\n");
    for args in [&["init", "continue", "--yes"][..], &["init", "continue", "--yes", "--remove"]] {
        stage.run(args);
        assert_eq!(stage.read("home/.continue/mcpServers/askuser.yaml"), "name: mine\n");
    }
}

#[test]
fn a_file_that_was_changed_since_loses_our_server_and_nothing_else() {
    let stage = stage();
    assert_eq!(stage.run(&["init", "gemini", "--yes"]).code, Some(0));
    let changed = gemini(&stage).replace("\"trust\": true", "\"trust\": true,\n            \"timeout\": 9");
    let stage = stage.file("home/.gemini/settings.json", &changed);
    assert_eq!(stage.run(&["init", "gemini", "--yes", "--remove"]).code, Some(0));
    let left = gemini(&stage);
    assert!(!left.contains("askuser") && left.contains("// mine") && left.contains("\"mcpServers\": {"), "{left}");
}

#[test]
fn a_server_that_had_our_name_before_comes_back() {
    let stage = stage();
    let mine = "{\"mcpServers\": {\"askuser\": {\"command\": \"mine\", \"env\": {\"KEY\": \"k\"}}}}\n";
    let stage = stage.file("home/.gemini/settings.json", mine);
    assert_eq!(stage.run(&["init", "gemini", "--yes"]).code, Some(0));
    assert!(gemini(&stage).contains("\"env\": {\"KEY\": \"k\"}"), "{}", gemini(&stage));
    assert_eq!(stage.run(&["init", "gemini", "--yes", "--remove"]).code, Some(0));
    assert_eq!(gemini(&stage), mine);
}

#[test]
fn a_read_only_file_stays_as_it_is() {
    let stage = stage();
    let file = stage.path("home/.gemini/settings.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let ended = stage.run(&["init", "gemini", "--yes"]);
    assert_eq!((ended.code, gemini(&stage).as_str()), (Some(2), GEMINI));
    assert!(ended.stderr.contains("is read-only"), "{}", ended.stderr);
}

#[test]
fn alone_it_asks_which_of_the_clients_that_are_here() {
    let stage = stage();
    fs::create_dir_all(stage.path("home/.qwen")).unwrap();
    let stage = alone(stage);
    let mut terminal = guided(&stage, "init");
    terminal.wait_for("Which agents should be able to ask you?");
    terminal.wait_for("2 of 2, 2 ticked");
    terminal.keys("gem ");
    terminal.wait_for("1 of 2, 1 ticked");
    terminal.keys("<enter>");
    terminal.wait_for("Add askuser to Qwen Code?");
    terminal.keys("y");
    let ended = terminal.finish();
    assert_eq!((ended.code, gemini(&stage).as_str()), (Some(0), GEMINI), "{}", ended.stderr);
    assert!(stage.read("home/.qwen/settings.json").contains("alwaysLoadTools"));
    let next = "next: restart Qwen Code; then say: ask me which database to use";
    assert!(ended.stderr.contains("the server starts, and a question reaches the inbox"), "{}", ended.stderr);
    assert!(ended.stderr.contains(next) && ended.stderr.contains("`askuser inbox`"), "{}", ended.stderr);
}

/// Returns a test environment with only the programs of its folder `bin`.
fn alone(stage: Stage) -> Stage {
    let bin = stage.path("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink("/bin/sh", bin.join("sh")).unwrap();
    stage.env("PATH", &bin.display().to_string())
}

/// Runs the binary by its path.
fn guided(stage: &Stage, args: &str) -> Terminal {
    let binary = env!("CARGO_BIN_EXE_askuser");
    stage.shell(&format!("exec {binary} {args} --key-delay 0 --success-flash 0 >out 2>err"))
}

#[test]
fn the_list_holds_every_agent_that_is_here_whatever_their_number() {
    let stage = alone(stage());
    let programs =
        ["claude", "codex", "gemini", "copilot", "qwen", "opencode", "kilo", "cursor", "code", "zed", "cline", "cn"];
    for program in programs {
        symlink("/bin/true", stage.path("bin").join(program)).unwrap();
    }
    let mut terminal = guided(&stage.clone().size(40, 12), "init");
    terminal.wait_for("12 of 12");
    terminal.wait_for("☑ Claude Code");
    terminal.keys("<esc>");
    terminal.wait_for("Discard");
    terminal.keys("<esc>");
    let ended = terminal.finish();
    assert_eq!((ended.code, gemini(&stage).as_str()), (Some(0), GEMINI), "{}", ended.stderr);
}

#[test]
fn without_an_agent_it_says_so_and_without_one_to_set_up_too() {
    let stage = alone(stage());
    fs::remove_dir_all(stage.path("home/.gemini")).unwrap();
    let none = guided(&stage, "init").finish();
    assert!(
        none.code == Some(2) && none.stderr.contains("no agent that askuser can set up is installed here"),
        "{}",
        none.stderr
    );
    assert!(none.stderr.contains("Claude Code") && none.stderr.contains("Zed"), "{}", none.stderr);
    assert_eq!(guided(&stage, "init gemini --yes").finish().code, Some(0));
    let all = guided(&stage, "init").finish();
    assert!(all.code == Some(0) && all.stderr.contains("set up already: Gemini CLI"), "{}", all.stderr);
}

#[test]
fn a_server_that_does_not_start_is_told_of() {
    let stage = alone(stage());
    // Claude Code starts it from a project by its name, which is not on the PATH here.
    let ended = guided(&stage, "init claude --project --yes").finish();
    assert!(ended.code == Some(2) && ended.stderr.contains("added, but askuser does not start: "), "{}", ended.stderr);
}

/// Returns a test environment with Claude Code and tmux, and with settings of both.
fn with_claude() -> Stage {
    let stage = alone(stage());
    for program in ["claude", "tmux"] {
        symlink("/bin/true", stage.path("bin").join(program)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_askuser"), stage.path("bin/askuser")).unwrap();
    stage.file("home/.claude/settings.json", CLAUDE).file("home/.tmux.conf", "set -g mouse on")
}

const CLAUDE: &str = "{\n  // mine\n  \"hooks\": {\"PostToolUse\": [{\"matcher\": \"Edit\", \"hooks\": []}]}\n}\n";

fn claude_settings(stage: &Stage) -> Value {
    serde_json::from_str(&stage.read("home/.claude/settings.json").replace("// mine", "")).unwrap()
}

#[test]
fn claude_code_is_set_up_by_one_question() {
    let stage = with_claude();
    let mut terminal = guided(&stage.clone().size(80, 24), "init claude");
    terminal.wait_for("Add askuser to Claude Code?");
    // A change that askuser itself proposes can be agreed to before its end is visible.
    terminal.keys("y");
    let ended = terminal.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let (said, before) =
        ("Claude Code's questions and permissions will also reach your inbox.", ended.stderr.find("added to"));
    assert!(ended.stderr.find(said) < before && ended.stderr.contains(said), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("added to Claude Code (~/.claude.json, ~/.claude/settings.json)"),
        "{}",
        ended.stderr
    );
    let next = "next: restart Claude Code; then say: ask me which database to use";
    assert!(ended.stderr.contains(next), "{}", ended.stderr);
    let settings = claude_settings(&stage);
    assert_eq!(settings["permissions"]["allow"], serde_json::json!(["mcp__askuser__*"]));
    assert_eq!(settings["hooks"]["PostToolUse"].as_array().map(Vec::len), Some(3), "{settings}");
    let wakes = &settings["hooks"]["PostToolUse"][2];
    assert_eq!(wakes["matcher"], "mcp__askuser__AskUserQuestion", "{settings}");
    assert_eq!(
        wakes["hooks"][0],
        serde_json::json!({"type": "command", "command": "askuser hook --answers", "timeout": 86_400, "asyncRewake": true})
    );
    let events: Vec<&String> = settings["hooks"].as_object().unwrap().keys().collect();
    let ours = ["PreToolUse", "PermissionRequest", "PostToolUseFailure", "Stop", "SubagentStop", "Elicitation"];
    assert!(ours.iter().all(|event| events.contains(&&(*event).to_owned())), "{events:?}");
    assert_eq!(settings["hooks"]["PermissionRequest"][0]["hooks"][0]["command"], "askuser hook");
    assert!(stage.read("home/.claude.json").contains("\"askuser\""));
    assert_eq!(stage.run(&["init", "claude", "--print"]).stdout, "", "it is not idempotent");
    assert_eq!(stage.run(&["init", "claude", "--remove", "--yes"]).code, Some(0));
    assert_eq!(stage.read("home/.claude/settings.json"), CLAUDE);
    assert!(!stage.path("home/.claude.json").exists());
}

#[test]
fn the_server_alone_brings_no_hook_and_no_rule() {
    let stage = with_claude();
    let alone = stage.run(&["init", "claude", "--mcp-only", "--yes"]);
    assert!(alone.stderr.contains("Claude Code's questions will also reach your inbox."), "{}", alone.stderr);
    assert!(stage.read("home/.claude.json").contains("\"askuser\""));
    assert_eq!(stage.read("home/.claude/settings.json"), CLAUDE);
    let project = stage.run(&["init", "claude", "--project", "--yes"]);
    assert_eq!(project.code, Some(0), "{}", project.stderr);
    assert!(stage.read(".mcp.json").contains("\"askuser\""));
    assert_eq!((stage.read("home/.claude/settings.json").as_str(), stage.path(".claude").exists()), (CLAUDE, false));
    // The rest is added without a message about the server.
    assert_eq!(stage.run(&["init", "--all", "--yes"]).code, Some(0));
    assert_eq!(claude_settings(&stage)["permissions"]["allow"], serde_json::json!(["mcp__askuser__*"]));
}

#[test]
fn settings_with_some_of_our_hooks_get_the_others() {
    let stage = with_claude();
    let ours = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/opt/askuser hook"}]}]}, "permissions": {"allow": ["Bash(ls)"]}}"#;
    let stage = stage.file("home/.claude/settings.json", ours);
    assert_eq!(stage.run(&["init", "claude", "--yes"]).code, Some(0));
    let settings = claude_settings(&stage);
    assert_eq!(settings["hooks"]["Stop"].as_array().map(Vec::len), Some(1), "{settings}");
    assert_eq!(settings["permissions"]["allow"], serde_json::json!(["Bash(ls)", "mcp__askuser__*"]));
    assert!(settings["hooks"]["Elicitation"].is_array(), "{settings}");
}

#[test]
fn more_is_offered_added_if_agreed_to_and_all_of_it_removed_to_the_byte() {
    let stage = with_claude();
    let before = |stage: &Stage| {
        let files = ["home/.claude/settings.json", "home/.tmux.conf", "home/.gemini/settings.json"];
        files.map(|file| stage.read(file))
    };
    let found = before(&stage);
    let mut terminal = guided(&stage, "init");
    terminal.wait_for("2 ticked");
    terminal.keys("<enter>");
    for question in ["Add askuser to Claude Code?", "Add askuser to Gemini CLI?"] {
        terminal.wait_for(question);
        terminal.keys("y");
    }
    terminal.wait_for("Anything else? Esc for nothing.");
    terminal.keys(" <down> ");
    terminal.wait_for("2 ticked");
    terminal.keys("<enter>");
    for question in ["Add a line for Claude Code?", "Add a tmux key?"] {
        terminal.wait_for(question);
        terminal.keys("y");
    }
    let ended = terminal.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let next = "next: restart Claude Code, Gemini CLI; run `tmux source ~/.tmux.conf`; then say: ask me which database";
    assert!(ended.stderr.replace("\n         ", " ").contains(next), "{}", ended.stderr);
    assert!(stage.read("home/.tmux.conf").starts_with("set -g mouse on\nbind-key a "));
    assert!(stage.read("home/.claude/CLAUDE.md").contains("AskUserQuestion"));
    // An extra that was declined is offered again, and has its own next step.
    let with_key = stage.read("home/.tmux.conf");
    for keys in ["<esc>", " <enter>"] {
        fs::write(stage.path("home/.tmux.conf"), "set -g mouse on").unwrap();
        let mut terminal = guided(&stage, "init");
        terminal.wait_for("Anything else? Esc for nothing.");
        terminal.wait_for("A tmux key (prefix a)");
        terminal.keys(keys);
        if keys != "<esc>" {
            terminal.wait_for("Add a tmux key?");
            terminal.keys("y");
        }
        let ended = terminal.finish();
        assert!(ended.code == Some(0) && ended.stderr.contains("set up already: Claude Code"), "{}", ended.stderr);
        assert!(!ended.screen.contains("Cancelled"), "nothing was cancelled:\n{}", ended.screen);
        let next = "next: run `tmux source ~/.tmux.conf`; then say";
        assert_eq!(ended.stderr.contains(next), keys != "<esc>", "{}", ended.stderr);
    }
    fs::write(stage.path("home/.tmux.conf"), with_key).unwrap();
    let removed = guided(&stage, "init --remove --all --yes").finish();
    assert_eq!((removed.code, before(&stage)), (Some(0), found), "{}", removed.stderr);
    assert!(!stage.path("home/.claude/CLAUDE.md").exists() && !stage.path("home/.claude.json").exists());
    assert_eq!(stage.read("state/askuser/setup.json"), "{}");
    let again = guided(&stage, "init --remove --all --yes").finish();
    assert!(again.code == Some(0) && again.stderr.contains("there is nothing to remove"), "{}", again.stderr);
}

#[test]
fn removing_asks_what_it_does_and_removes_what_stays_ticked() {
    let stage = alone(stage());
    for client in ["gemini", "qwen"] {
        assert_eq!(guided(&stage, &format!("init {client} --yes")).finish().code, Some(0));
    }
    let mut terminal = guided(&stage, "init --remove");
    terminal.wait_for("What should askuser be removed from?");
    terminal.wait_for("2 ticked");
    terminal.keys("qwen ");
    terminal.wait_for("1 ticked");
    terminal.keys("<enter>");
    terminal.wait_for("Remove askuser from Gemini CLI?");
    terminal.keys("<pgdn>");
    terminal.wait_for("enter select");
    terminal.keys("y");
    let ended = terminal.finish();
    assert_eq!((ended.code, gemini(&stage).as_str()), (Some(0), GEMINI), "{}", ended.stderr);
    assert!(stage.read("home/.qwen/settings.json").contains("askuser"));
    assert!(ended.stderr.contains("removed from Gemini CLI"), "{}", ended.stderr);
}

#[test]
fn doctor_tries_the_server_and_the_hook_of_each_agent() {
    let stage = with_claude();
    let doctor = |stage: &Stage| stage.run(&["doctor"]).stdout;
    let before = doctor(&stage);
    assert!(before.contains("✘ Gemini CLI    ✘ questions  (tried with 0.61.0)\n"), "{before}");
    assert!(before.contains("questions: not set up\n                fix: `askuser init gemini`\n"), "{before}");
    assert_eq!(stage.run(&["init", "claude", "gemini", "--yes"]).code, Some(0));
    let after = doctor(&stage);
    assert!(after.contains("✔ Gemini CLI    ✔ questions  (tried with 0.61.0)\n"), "{after}");
    assert!(after.contains("✔ Claude Code   ✔ questions  ✔ permissions  (tried with 2.1."), "{after}");
    // The question was ended when it was stored, so no list has ever shown it.
    assert_eq!(stage.run(&["inbox", "--json"]).stdout, "");
    let log = stage.run(&["log", "--json"]).stdout;
    let probes: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(probes.len(), 2, "one of init, one of doctor for all agents: {log}");
    assert!(probes.iter().all(|probe| probe["state"] == "timed_out"), "{log}");
    assert_eq!(stage.run(&["log"]).stdout, "", "they are no questions to a person");
}

#[test]
fn doctor_names_what_keeps_an_agent_from_asking() {
    let stage = with_claude();
    assert_eq!(stage.run(&["init", "claude", "--yes"]).code, Some(0));
    let settings = stage.read("home/.claude/settings.json");
    let doctor = |stage: &Stage, settings: &str| {
        let stage = stage.clone().file("home/.claude/settings.json", settings);
        let said = stage.run(&["doctor"]).stdout;
        let claude = said.split("✘ Claude Code").nth(1).unwrap_or_else(|| panic!("{said}"));
        claude.split("\n✘").next().unwrap_or_default().to_owned()
    };
    let said = doctor(&stage, &settings.replace("mcp__askuser__*", "Bash"));
    assert!(said.contains("✘ questions  ✔ permissions") && said.contains("do not allow the tool"), "{said}");
    let said = doctor(&stage, &settings.replace("\"Stop\"", "\"Other\""));
    assert!(said.contains("✔ questions  ✘ permissions") && said.contains("a hook is missing"), "{said}");
    let said = doctor(&stage, &settings.replace("askuser hook", "/nowhere/askuser hook"));
    assert!(said.contains("✔ questions  ✘ permissions") && said.contains("does not start"), "{said}");
    let said = doctor(&stage.clone().env("ASKUSER_STORE", "/dev/null/inbox"), &settings);
    assert!(said.contains("✘ questions") && said.contains("fix: `askuser init claude`"), "{said}");
}

#[test]
fn a_client_whose_command_line_does_not_look_for_the_file_has_its_user_told_to_name_it() {
    let stage = stage();
    let added = stage.run(&["init", "continue", "--yes"]).stderr;
    assert!(added.contains("name the file: cn --mcp ~/.continue/mcpServers/askuser.yaml\n"), "{added}");
    let said = stage.run(&["doctor"]).stdout;
    assert!(said.contains("name the file: cn --mcp ~/.continue/mcpServers/askuser.yaml\n"), "{said}");
    let removed = stage.run(&["init", "continue", "--yes", "--remove"]).stderr;
    assert!(removed.contains("removed from Continue") && !removed.contains("cn --mcp"), "{removed}");
    assert!(!stage.run(&["init", "gemini", "--yes"]).stderr.contains("name the file"));
}

#[test]
fn one_client_that_cannot_be_set_up_does_not_keep_the_others_from_it() {
    let stage = stage();
    fs::create_dir_all(stage.path("home/.qwen")).unwrap();
    fs::write(stage.path("home/.qwen/settings.json"), "{ broken").unwrap();
    let ended = stage.run(&["init", "qwen", "gemini", "codex", "--yes"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(gemini(&stage).contains("askuser"), "{}", ended.stderr);
    assert!(stage.read("home/.codex/config.toml").contains("askuser"), "{}", ended.stderr);
    assert_eq!(stage.read("home/.qwen/settings.json"), "{ broken");
    for told in ["Qwen Code: ", "added to Gemini CLI", "added to Codex"] {
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
}

#[test]
fn what_a_program_saves_while_its_user_reads_the_change_is_not_overwritten() {
    let saved = "{\n    \"theme\": \"dark\"\n}\n";
    for args in [&["gemini"][..], &["gemini", "--remove"]] {
        let stage = stage();
        if args.contains(&"--remove") {
            assert_eq!(stage.run(&["init", "gemini", "--yes"]).code, Some(0));
        }
        let mut terminal = init(&stage, args);
        terminal.wait_for("Gemini CLI?");
        // Another program saves the file, with the server in it and another change.
        let saved = if args.contains(&"--remove") { gemini(&stage).replace("\"x\"", "\"y\"") } else { saved.into() };
        fs::write(stage.path("new"), &saved).unwrap();
        fs::rename(stage.path("new"), stage.path("home/.gemini/settings.json")).unwrap();
        // The person first reads the change to its end.
        terminal.keys("<pgdn>");
        terminal.wait_until("its end is on the screen", |screen| !screen.contains("more lines, PgDn"));
        terminal.keys("1");
        let ended = terminal.finish();
        assert_eq!((ended.code, gemini(&stage)), (Some(2), saved), "{}", ended.stderr);
        assert!(ended.stderr.contains("changed in the meantime and was left as it is"), "{}", ended.stderr);
    }
}

#[test]
fn a_file_that_appears_while_its_user_reads_the_change_is_not_overwritten() {
    let stage = stage();
    let mut terminal = init(&stage, &["qwen"]);
    terminal.wait_for("Add askuser to Qwen Code?");
    let stage = stage.file("home/.qwen/settings.json", "{\"theirs\": 1}");
    terminal.keys("1");
    let ended = terminal.finish();
    assert_eq!(
        (ended.code, stage.read("home/.qwen/settings.json").as_str()),
        (Some(2), "{\"theirs\": 1}"),
        "{}",
        ended.stderr
    );
}

#[test]
fn several_at_once_lose_no_record_of_each_other() {
    let stage = stage();
    fs::remove_dir_all(stage.path("home/.gemini")).unwrap();
    let clients = clients(&stage);
    let all_at_once = |args: &[&str]| {
        let started: Vec<_> =
            clients.iter().map(|client| (client, stage.spawn(&[&["init", client, "--yes"], args].concat()))).collect();
        for (client, process) in started {
            let ended = process.wait_with_output().unwrap();
            assert!(ended.status.success(), "{client}: {}", String::from_utf8_lossy(&ended.stderr));
        }
    };
    all_at_once(&[]);
    let record: Value = serde_json::from_str(&stage.read("state/askuser/setup.json")).unwrap();
    assert_eq!(record.as_object().unwrap().len(), clients.len() + 2, "Claude Code and Codex have two files: {record}");
    all_at_once(&["--remove"]);
    assert_eq!(stage.read("state/askuser/setup.json"), "{}");
    let files: Vec<_> = files_below(&stage.path("home"));
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn several_for_the_same_client_add_it_once_and_it_can_be_undone() {
    let stage = stage();
    let started: Vec<_> = (0..6).map(|_| stage.spawn(&["init", "gemini", "--yes"])).collect();
    for process in started {
        let ended = process.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    assert_eq!(gemini(&stage).matches("\"askuser\"").count(), 2, "the name and the command: {}", gemini(&stage));
    assert_eq!(stage.run(&["init", "gemini", "--remove", "--yes"]).code, Some(0));
    assert_eq!(gemini(&stage), GEMINI);
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn what_undoes_a_change_is_there_where_the_file_could_not_be_written_and_says_nothing_false() {
    let stage = stage();
    let file = stage.path("home/.gemini/settings.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(stage.run(&["init", "gemini", "--yes"]).code, Some(2));
    assert_eq!(stage.read("state/askuser/setup.json"), "{}");
}

/// Returns a project of other people.
fn project() -> Stage {
    let stage = stage();
    fs::create_dir(stage.path(".git")).unwrap();
    stage
}

#[test]
fn a_projects_link_does_not_lead_to_a_file_of_the_users() {
    let stage = project();
    symlink(stage.path("home/.gemini"), stage.path(".gemini")).unwrap();
    symlink("home/.gemini/settings.json", stage.path(".mcp.json")).unwrap();
    for (client, expected) in
        [("gemini", ".gemini is a link, must be a folder"), ("claude", ".mcp.json is a link, must be a regular file")]
    {
        for args in [&["--yes"][..], &["--yes", "--remove"], &["--print"]] {
            let ended = stage.run(&[&["init", client, "--project"], args].concat());
            assert_eq!((ended.code, gemini(&stage).as_str()), (Some(2), GEMINI), "{}", ended.stderr);
            assert!(ended.stderr.contains(expected) && ended.stdout.is_empty(), "{}", ended.stderr);
        }
    }
}

#[test]
fn what_is_no_regular_file_is_neither_waited_for_nor_read_without_end() {
    let stage = project();
    assert!(std::process::Command::new("mkfifo").arg(stage.path(".mcp.json")).status().unwrap().success());
    symlink("/dev/zero", stage.path("opencode.json")).unwrap();
    fs::create_dir(stage.path(".cursor")).unwrap();
    fs::File::create(stage.path(".cursor/mcp.json")).unwrap().set_len(1 << 36).unwrap();
    for (client, expected) in [
        ("claude", ".mcp.json is a pipe, must be a regular file"),
        ("opencode", "opencode.json is a link, must be a regular file"),
        ("cursor", ".cursor/mcp.json is longer than 67108864 bytes"),
    ] {
        let ended = stage.run(&["init", client, "--project", "--yes"]);
        assert!(ended.code == Some(2) && ended.stderr.contains(expected), "{}", ended.stderr);
    }
    // A user's own link is followed, but only to a regular file.
    let stage = stage.clone();
    fs::remove_file(stage.path("home/.gemini/settings.json")).unwrap();
    symlink("/dev/zero", stage.path("home/.gemini/settings.json")).unwrap();
    let ended = stage.run(&["init", "gemini", "--yes"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("is a device, must be a regular file"), "{}", ended.stderr);
}

#[test]
fn the_question_names_the_file_that_is_changed_and_not_its_link_alone() {
    let stage = stage().size(120, 40);
    let link = stage.path("home/.gemini/settings.json");
    let real = stage.path("home/dotfiles.json");
    fs::rename(&link, &real).unwrap();
    symlink("../dotfiles.json", &link).unwrap();
    let mut terminal = init(&stage, &["gemini"]);
    terminal.wait_for("+++ ~/.gemini/settings.json -> ~/dotfiles.json");
    terminal.keys("2");
    terminal.finish();
}

#[test]
fn the_byte_order_mark_of_a_file_stays_and_comes_back() {
    let stage = stage();
    let marked = format!("\u{feff}{GEMINI}");
    let stage = stage.file("home/.gemini/settings.json", &marked);
    assert_eq!(stage.run(&["init", "gemini", "--yes"]).code, Some(0));
    let changed = gemini(&stage);
    assert!(changed.starts_with("\u{feff}{\n    // mine") && changed.contains("askuser"), "{changed:?}");
    assert_eq!(stage.run(&["init", "gemini", "--remove", "--yes"]).code, Some(0));
    assert_eq!(gemini(&stage), marked);
}

#[test]
fn what_was_in_the_files_of_others_is_kept_for_their_user_alone() {
    let stage = stage();
    let secret = "{\"mcpServers\": {\"askuser\": {\"command\": \"mine\", \"env\": {\"KEY\": \"sesame\"}}}}\n";
    let stage = stage.file("home/.gemini/settings.json", secret);
    assert_eq!(stage.run(&["init", "gemini", "--yes"]).code, Some(0));
    let mode = |name: &str| stage.path(name).metadata().unwrap().permissions().mode() & 0o777;
    let modes = ["state/askuser", "state/askuser/setup.json", "state/askuser/setup.lock"].map(mode);
    assert_eq!(modes, [0o700, 0o600, 0o600], "{modes:?}");
}

#[test]
fn yes_without_names_changes_nothing_and_names_the_clients() {
    let stage = stage().env("PATH", "/usr/bin:/bin");
    fs::create_dir_all(stage.path("home/.qwen")).unwrap();
    for (args, code, expected) in [
        (&["init", "--yes"][..], 2, "these would be asked about: gemini qwen"),
        (&["init", "--yes", "--remove"], 0, "there is nothing to remove"),
    ] {
        let ended = stage.spawn(args).wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), gemini(&stage).as_str()), (Some(code), GEMINI), "{stderr}");
        assert!(!stage.path("home/.qwen/settings.json").exists(), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    }
}

#[test]
fn doctor_does_not_call_a_server_working_that_is_not() {
    let reply = |reply: &str| format!("read hello; read ready; read call; echo '{{\"id\":2,{reply}}}'; cat");
    let servers = [
        ("exit 0".to_owned(), "questions: its server ends without an answer"),
        (reply("\"error\":{\"message\":\"no such tool\"}"), "does not reach the inbox: no such tool"),
        (reply("\"result\":{\"content\":[{\"text\":\"asleep\"}]}"), "does not reach the inbox: asleep"),
        (reply("\"result\":{\"structuredContent\":{\"status\":\"timed_out\"}}"), "✔ Gemini CLI    ✔ questions"),
    ];
    for (script, expected) in servers {
        let server = serde_json::json!({"mcpServers": {"askuser": {"command": "sh", "args": ["-c", script]}}});
        let stage = stage().file("home/.gemini/settings.json", server.to_string());
        let told = stage.run(&["doctor"]).stdout;
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let server = "{\"mcpServers\": {\"askuser\": {\"command\": \"/nowhere/askuser\", \"args\": [\"mcp\"]}}}";
    let stage = stage().file("home/.gemini/settings.json", server);
    let told = stage.run(&["doctor"]).stdout;
    assert!(told.contains("questions: /nowhere/askuser does not start: "), "{told}");
}

#[test]
fn programs_in_relative_folders_of_path_are_none() {
    let stage = stage();
    fs::remove_dir_all(stage.path("home/.gemini")).unwrap();
    for name in ["bin/gemini", "bin/askuser", "gemini"] {
        let stage = stage.clone().file(name, "#!/bin/sh\n");
        fs::set_permissions(stage.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let found = |path: &str| {
        let ended = stage.clone().env("PATH", path).spawn(&["init", "--print"]).wait_with_output().unwrap();
        String::from_utf8(ended.stdout).unwrap().contains(".gemini/settings.json")
    };
    let absolute = stage.path("bin").display().to_string();
    assert!(found(&format!("/usr/bin:/bin:{absolute}")));
    for path in ["bin:/usr/bin:/bin", "./bin:/usr/bin", ".:/usr/bin", ":/usr/bin"] {
        assert!(!found(path), "{path}");
    }
}

#[test]
fn codex_starts_where_askuser_is_not_installed() {
    let stage = stage();
    assert_eq!(stage.run(&["init", "codex", "--yes"]).code, Some(0));
    let config = stage.read("home/.codex/config.toml");
    assert!(config.contains("[mcp_servers.askuser]") && !config.contains("required"), "{config}");
}

#[test]
fn uninstalling_undoes_every_init_also_in_projects_and_says_what_is_kept() {
    let stage = stage();
    fs::create_dir_all(stage.path(".git")).unwrap();
    assert_eq!(stage.run(&["init", "gemini", "codex", "--yes"]).code, Some(0));
    assert_eq!(stage.run(&["init", "claude", "--project", "--yes"]).code, Some(0));
    assert!(stage.path(".mcp.json").exists() && stage.path("home/.codex/config.toml").exists());

    let unseen = stage.run(&["uninstall"]);
    assert_eq!(unseen.code, Some(3), "nobody agreed: {}", unseen.stderr);
    assert!(gemini(&stage) != GEMINI && stage.path(".mcp.json").exists());

    let ended = stage.run(&["uninstall", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(gemini(&stage), GEMINI);
    assert!(!stage.path(".mcp.json").exists() && !stage.path("home/.codex").exists());
    assert!(!ended.stderr.contains("is not set up"), "the user's file is no project's, too: {}", ended.stderr);
    let state = stage.path("state/askuser").display().to_string();
    assert!(
        ended.stderr.contains("sessions, questions and answers (") && ended.stderr.contains(&format!("rm -r {state}"))
    );
    assert!(stage.path("state/askuser").is_dir(), "kept");

    let again = stage.run(&["uninstall"]);
    assert!(again.code == Some(0) && again.stderr.contains("there is nothing to remove"), "{}", again.stderr);
}
