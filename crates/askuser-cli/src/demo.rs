//! `askuser demo`: the proposals' four examples, one after the other.

use askuser::{Status, report};
use askuser_cli::ask_here;
use askuser_cli::config::Settings;
use askuser_cli::failure::{Failure, exit};
use askuser_cli::result::{exit_code, write};
use askuser_cli::source;
use askuser_cli::surfaces::terminal_options;
use askuser_cli::wrapped::wrapped_for;
use askuser_terminal::ask_without_markdown;

const EXAMPLES: [(&str, &str); 4] = [
    ("1 of 4: choosing one", include_str!("../demo/database.json")),
    ("2 of 4: choosing several", include_str!("../demo/features.json")),
    ("3 of 4: two questions with a review", include_str!("../demo/authentication.json")),
    ("4 of 4: your own words, under Other", include_str!("../demo/package-manager.json")),
];

pub(crate) fn run(settings: &Settings) -> Result<u8, Failure> {
    let mut code = exit::ANSWERED;
    for (title, json) in EXAMPLES {
        let set = source::parse(json, settings).map_err(source::invalid)?;
        write(&format!("\nExample {title} (? for keys, Ctrl-C to leave)\n"))?;
        let request = ask_here::request(set, settings);
        let options = terminal_options(settings);
        let resolution = ask_here::ask(&request, settings, &options, ask_without_markdown, &mut |_| Ok(()))?;
        if let Status::Unavailable { reason } = resolution.outcome().status() {
            return Err(Failure::new(format!("nobody can be asked: {reason}"))
                .hint("run the demo in a terminal")
                .code(exit::NOBODY_THERE));
        }
        let prose = report::prose(request.set(), &resolution);
        write(&format!("\nThe model reads:\n\n{}\n", wrapped_for(std::io::stdout(), &prose)))?;
        code = code.max(exit_code(&resolution));
    }
    Ok(code)
}
