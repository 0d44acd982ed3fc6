"""Pages for people: what runs where, with lines to copy, and the playground's APIs to try in a browser."""
