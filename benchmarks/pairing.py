"""What the comparisons share: one core, and calls that take turns. Import it before numpy."""
import os
import statistics
import time

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def paired(ours, theirs, repeats):
    "Values and median processor seconds of each, the two taking turns after a warm-up; None where there is no peer."
    calls = [f for f in (ours, theirs) if f]
    values, times = [f() for f in calls], [[] for _ in calls]
    for _ in range(repeats):
        for f, seconds in zip(calls, times):
            start = time.process_time()
            f()
            seconds.append(time.process_time() - start)
    return values, [statistics.median(t) for t in times] + [None] * (2 - len(calls))
