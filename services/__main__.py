"""`python -m services`: refuses an interpreter that is not supported, then runs the command."""

import sys

from services.interpreter import explain_unsupported_here


def main() -> int:
    refusal = explain_unsupported_here()
    if refusal is not None:
        print(f"dayshift: {refusal}", file=sys.stderr)
        return 2
    # Late: these imports need packages that another interpreter may not have.
    from services.command_line import main as run_command

    return run_command()


if __name__ == "__main__":
    sys.exit(main())
