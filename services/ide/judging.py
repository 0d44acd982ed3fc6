"""What the judge knows of the IDE. Its rows hold the files of workspaces and the code host's records."""

from services.kernel.judging import Judging

# A step is one command or one file: a bug is reproduced, the code around it read, and the tests run more than once.
judging = Judging(steps_to_look_around=40, takes_programs=True)
