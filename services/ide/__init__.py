"""The IDE: a code workspace, the code host beside it, and a grader that compares answers out of reach of the code."""
