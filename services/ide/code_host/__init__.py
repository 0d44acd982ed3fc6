"""The code host's repositories: git's own formats, and the git server of an episode."""
