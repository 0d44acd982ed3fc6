"""The workspace of an episode: the files that it starts from, its sandbox, and its git server."""
