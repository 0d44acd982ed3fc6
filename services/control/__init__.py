"""Control: episodes, tasks, verdicts and their record."""
