"""The IDE: a code workspace, the forge beside it, and a grader that cannot be talked into passing."""
