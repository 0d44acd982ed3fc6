"""How slow this machine is just now: limits of time hold on an idle one."""

from time import perf_counter, process_time


def slowdown() -> float:
    """How much longer than its own work a process takes here and now: 1 on an idle machine, more on a busy one."""
    began, worked = perf_counter(), process_time()
    while process_time() - worked < 0.2:
        pass
    return max(1.0, (perf_counter() - began) / (process_time() - worked))
