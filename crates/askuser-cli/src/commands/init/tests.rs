//! Users' typical files, before and after a change.

use super::clients::{CLIENTS, Client, Home};
use super::format::Format;
use super::server_command::Programs;
use super::undo::Splice;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

const SERVERS: &str = "mcpServers";

fn fields(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn server() -> Map<String, Value> {
    fields(json!({"command": "askuser", "args": ["mcp"]}))
}

/// Adds the server, checks the result, and removes the server again: from the written file, and from a file edited by
/// hand.
#[track_caller]
fn check(format: Format, before: &str, after: &str) {
    let edited = format.add(before, SERVERS, &server()).unwrap();
    assert_eq!(edited, after);
    assert_eq!(format.add(&edited, SERVERS, &server()).unwrap(), edited, "not idempotent");
    assert_eq!(format.find(&edited, SERVERS).unwrap(), Some(server().into()));
    let splice = Splice::between(before, &edited);
    assert_eq!(splice.undo(&edited).as_deref(), Some(before), "{splice:?}");
    let removed = format.remove(&edited, SERVERS, false).unwrap();
    assert_eq!(format.find(&removed, SERVERS).unwrap(), None);
}

#[test]
fn a_file_that_is_not_there_is_written_with_two_spaces() {
    let after = "{\n  \"mcpServers\": {\n    \"askuser\": {\n      \"command\": \"askuser\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
    check(Format::Json, "", after);
}

#[test]
fn comments_order_and_indentation_of_json_stay() {
    let before = "// mine\n{\n\t\"z\": 1, /* odd */ \"a\":[1,2],\n\t\"mcpServers\": {\n\t\t\"other\": { \"url\": \"x\" } // last\n\t}\n}\n";
    let after = "// mine\n{\n\t\"z\": 1, /* odd */ \"a\":[1,2],\n\t\"mcpServers\": {\n\t\t\"other\": { \"url\": \"x\" }, // last\n\t\t\"askuser\": {\n\t\t\t\"command\": \"askuser\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}\n}\n";
    check(Format::Json, before, after);
}

#[test]
fn an_object_in_one_line_stays_in_one_line() {
    let server = "{\"command\":\"askuser\",\"args\":[\"mcp\"]}";
    check(Format::Json, "{\"a\":{\"b\":1}}", &format!("{{\"a\":{{\"b\":1}},\"mcpServers\":{{\"askuser\":{server}}}}}"));
    let before = "{\n  \"z\": [1],\n  \"mcpServers\": { \"o\": {}, }\n}\n";
    let after = format!("{{\n  \"z\": [1],\n  \"mcpServers\": {{ \"o\": {{}}, \"askuser\": {server}, }}\n}}\n");
    check(Format::Json, before, &after);
}

#[test]
fn windows_line_ends_stay() {
    let json = "{\r\n  \"a\": 1\r\n}\r\n";
    let edited = Format::Json.add(json, SERVERS, &server()).unwrap();
    assert_eq!(edited.matches('\n').count(), edited.matches("\r\n").count(), "{edited:?}");
    let toml = "a = 1\r\n[b]\r\nc = 2\r\n";
    let after = "a = 1\r\n[b]\r\nc = 2\r\n\r\n[mcpServers.askuser]\r\ncommand = \"askuser\"\r\nargs = [\"mcp\"]\r\n";
    check(Format::Toml, toml, after);
}

#[test]
fn a_server_is_a_section_at_the_end_of_a_toml_file() {
    let before = "# mine\nmodel   = 'x' # which\n\n[mcpServers.other]\ncommand = \"o\"";
    let after = "# mine\nmodel   = 'x' # which\n\n[mcpServers.other]\ncommand = \"o\"\n\n[mcpServers.askuser]\ncommand = \"askuser\"\nargs = [\"mcp\"]\n";
    check(Format::Toml, before, after);
    check(Format::Toml, "", "[mcpServers.askuser]\ncommand = \"askuser\"\nargs = [\"mcp\"]\n");
}

#[test]
fn what_else_a_server_says_stays_when_it_is_brought_up_to_date() {
    let json =
        "{\"mcpServers\": {\"askuser\": {\"command\": \"/old\", /* mine */ \"timeout\": 9, \"args\": [\"mcp\"]}}}";
    let edited = Format::Json.add(json, SERVERS, &server()).unwrap();
    assert_eq!(edited, json.replace("/old", "askuser"));
    let toml = "[mcpServers.askuser]\ncommand = \"/old\"\ntimeout = 9 # mine\nargs = [ \"mcp\" ]\n";
    let edited = Format::Toml.add(toml, SERVERS, &server()).unwrap();
    assert!(edited.contains("command = \"askuser\"\ntimeout = 9 # mine\n"), "{edited}");
}

#[test]
fn a_broken_file_is_refused_with_line_and_column() {
    let why = |format: Format, text: &str| format.add(text, SERVERS, &server()).unwrap_err();
    let json = why(Format::Json, "{\n  \"a\": 1\n  \"b\": 2\n}");
    assert!(
        json.starts_with("is broken at line 2, column 9: ") || json.starts_with("is broken at line 3, column 3: "),
        "{json}"
    );
    let toml = why(Format::Toml, "a = 1\nb = = 2\n");
    assert!(toml.starts_with("is broken at line 2, column 5: "), "{toml}");
    assert_eq!(why(Format::Json, "[1]"), "is no JSON object");
    assert_eq!(why(Format::Json, "{\"mcpServers\": []}"), "has mcpServers that is no object");
}

#[test]
fn a_file_that_says_something_twice_or_in_one_line_is_not_guessed_at() {
    let twice = "{\"mcpServers\": {\"a\": {}}, \"mcpServers\": {\"b\": {}}}";
    assert_eq!(
        Format::Json.add(twice, SERVERS, &server()).unwrap_err(),
        "is written in a way that cannot be edited safely"
    );
    let inline = "mcpServers = { other = { command = \"o\" } }\n";
    assert!(Format::Toml.add(inline, SERVERS, &server()).is_err());
}

#[test]
fn a_change_is_undone_where_it_has_moved_and_not_where_it_was_changed() {
    let before = "{\n  \"a\": 1\n}\n";
    let after = Format::Json.add(before, SERVERS, &server()).unwrap();
    let splice = Splice::between(before, &after);
    let moved = after.replace("{\n  \"a\": 1", "{\n  \"new\": 0,\n  \"a\": 1");
    assert_eq!(splice.undo(&moved).as_deref(), Some("{\n  \"new\": 0,\n  \"a\": 1\n}\n"));
    assert_eq!(splice.undo(&after.replace("mcp\"", "mcp\", \"-v\"")), None);
}

#[test]
fn an_empty_table_that_was_there_before_comes_back() {
    for before in
        ["{\"mcpServers\": {}}", "{}", "{ }\n", "{\"mcpServers\": { // none\n}}", "{\n  \"mcpServers\": {\n  }\n}"]
    {
        let after = Format::Json.add(before, SERVERS, &server()).unwrap();
        assert_eq!(Splice::between(before, &after).undo(&after).as_deref(), Some(before));
    }
}

#[test]
fn a_table_that_we_made_goes_with_our_server_after_its_program_has_rewritten_the_file() {
    let rewritten = "{\n  \"mcpServers\": {\n    \"askuser\": {}\n  },\n  \"a\": 1\n}";
    let removed = Format::Json.remove(rewritten, SERVERS, true).unwrap();
    assert!(!removed.contains("mcpServers") && removed.contains("\"a\": 1"), "{removed}");
    let other = "{\"mcpServers\": {\"askuser\": {}, \"o\": {}}}";
    assert!(Format::Json.remove(other, SERVERS, true).unwrap().contains("\"o\": {}"));
}

#[test]
fn the_yaml_file_is_known_again_and_another_is_not() {
    let odd = fields(json!({"command": "/a b/#c: 'x'", "args": ["mcp"]}));
    let text = Format::YamlFileOfItsOwn.add("", SERVERS, &odd).unwrap();
    insta::assert_snapshot!(text, @r##"
    # Written by `askuser init`; `askuser init continue --remove` deletes it.
    name: askuser
    version: 1.0.0
    schema: v1
    mcpServers:
      - name: askuser
        command: "/a b/#c: 'x'"
        args: ["mcp"]
    "##);
    assert_eq!(Format::YamlFileOfItsOwn.find(&text, SERVERS).unwrap(), Some(odd.into()));
    assert_eq!(Format::YamlFileOfItsOwn.find("name: mine\n", SERVERS).unwrap(), None);
}

#[test]
fn every_client_of_the_command_line_is_in_the_table_and_has_a_file_of_its_own() {
    let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    assert_eq!(names, crate::args::CLIENTS);
    let home = Home { folder: "/home/me".into(), variable: &|_| None };
    let mut files: Vec<PathBuf> = CLIENTS.iter().map(|client| client.user_file(&home)).collect();
    files.sort();
    files.dedup();
    assert_eq!(files.len(), CLIENTS.len());
}

#[test]
fn a_client_counts_as_tried_exactly_if_the_tests_with_released_clients_run_it() {
    let tried = include_str!("../../../../../tests/clients/agents.py");
    for client in CLIENTS {
        let agent = tried.split_once(&format!("\n    \"{}\": Agent(\n", client.name));
        let version = agent.and_then(|(_, agent)| agent.lines().next()?.split('"').nth(3));
        assert_eq!(client.tried, version, "{}", client.name);
    }
}

#[test]
fn a_file_with_comments_is_meant_where_it_is_there_alone() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["opencode", "kilo"] {
        let [plain, with_comments] =
            ["json", "jsonc"].map(|extension| folder.path().join(format!("{name}.{extension}")));
        let meant = || Client::named(name).unwrap().project_file(folder.path()).unwrap();
        assert_eq!(meant(), plain);
        std::fs::write(&with_comments, "{}").unwrap();
        assert_eq!(meant(), with_comments);
        std::fs::write(&plain, "{}").unwrap();
        assert_eq!(meant(), plain);
    }
}

#[test]
fn variables_that_move_a_clients_folder_are_followed() {
    let variable = |name: &str| Some(format!("/moved/{name}"));
    let home = Home { folder: "/home/me".into(), variable: &variable };
    let file = |name: &str| Client::named(name).unwrap().user_file(&home);
    assert_eq!(file("claude"), Path::new("/moved/CLAUDE_CONFIG_DIR/.claude.json"));
    assert_eq!(file("codex"), Path::new("/moved/CODEX_HOME/config.toml"));
    assert_eq!(file("opencode"), Path::new("/moved/XDG_CONFIG_HOME/opencode/opencode.json"));
    let relative = |_: &str| Some("relative".to_owned());
    let home = Home { folder: "/home/me".into(), variable: &relative };
    assert_eq!(Client::named("codex").unwrap().user_file(&home), Path::new("/home/me/.codex/config.toml"));
}

// Windows has no file modes.
#[cfg(unix)]
#[test]
fn the_name_alone_is_written_only_where_it_finds_this_program() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let ours = program("ours/askuser");
    let other = program("other/askuser");
    let link = folder.path().join("bin/askuser");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&ours, &link).unwrap();
    let programs = |path: &Path| Programs::of(Some(path.parent().unwrap().into()));
    assert_eq!(programs(&link).command(&ours, false), "askuser");
    assert_eq!(programs(&link).command(&ours, true), link.display().to_string());
    assert_eq!(programs(&other).command(&ours, false), ours.display().to_string());
    assert_eq!(Programs::of(None).command(&ours, false), ours.display().to_string());
}

/// Generates any JSON object with servers in it, with any spacing.
fn documents() -> impl Strategy<Value = String> {
    let leaf =
        prop_oneof![Just("1".to_owned()), Just("\"x\"".to_owned()), Just("[ 1,2 ]".to_owned()), Just("{}".to_owned())];
    let space = prop_oneof![Just(""), Just(" "), Just("\n  "), Just("\r\n\t"), Just(" // c\n"), Just("/* c */")];
    let pair = (prop_oneof![Just("a"), Just("b"), Just("mcpServers")], leaf, space.clone(), space.clone());
    (proptest::collection::vec(pair, 0..4), space.clone(), space, any::<bool>()).prop_map(
        |(pairs, start, end, trailing)| {
            let mut names = Vec::new();
            let mut text = format!("{{{start}");
            let mut count = 0;
            for (name, leaf, before, after) in pairs {
                if names.contains(&name) {
                    continue;
                }
                names.push(name);
                let leaf = if name == "mcpServers" { format!("{{{before}\"o\": {leaf}{after}}}") } else { leaf };
                let comma = if count > 0 { "," } else { "" };
                text.push_str(&format!("{comma}{before}\"{name}\":{after}{leaf}"));
                count += 1;
            }
            let comma = if trailing && count > 0 { "," } else { "" };
            format!("{text}{comma}{end}}}")
        },
    )
}

proptest! {
    #[test]
    fn whatever_a_file_looks_like_it_says_the_same_and_comes_back_to_the_byte(before in documents()) {
        let after = Format::Json.add(&before, SERVERS, &server()).unwrap();
        prop_assert_eq!(Format::Json.add(&after, SERVERS, &server()).unwrap(), after.clone());
        let undone = Splice::between(&before, &after).undo(&after);
        prop_assert_eq!(undone, Some(before));
        let removed = Format::Json.remove(&after, SERVERS, false).unwrap();
        prop_assert_eq!(Format::Json.find(&removed, SERVERS).unwrap(), None);
    }
}
