"""Programs that run inside a sandbox, under its own interpreter: standard library only (and jedi for `symbols`)."""
