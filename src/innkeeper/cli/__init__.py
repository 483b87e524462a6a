"""The command line: a module a command group, heavy imports late (architecture §2, §6).

Rules
* `innkeeper.cli.main` imports click and texts only; a command imports what it needs when it runs.
* Everything a command does with a host goes through the protocol, by the client library: one door.
* Data go to standard output, words about the run to standard error. `--json` gives one document, `"version": 1` in it.
* A failure is told once, in the user's language, with its code, a remedy and an exit code of `exit_codes`.
"""
