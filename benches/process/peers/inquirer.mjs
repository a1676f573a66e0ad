// The question asked with Inquirer, in its default theme.
import { select } from "@inquirer/prompts";

const choices = ["PostgreSQL", "MongoDB", "SQLite", "Other"];
const message = "Which database should we use for this project?";
console.log(await select({ message, choices }, { output: process.stderr }));
