"""The repetition engine beside NumPy: how long the runs of the paper's tables take, and how much more a repetition costs than drawing its random numbers.

python benchmarks/synthetic.py [N_JOBS] (default 2)."""
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is imported

import sys
import time

import numpy as np

from cwcal.lab.synthetic import DISTRIBUTIONS, MODES, repetitions, simulate

DRAWS = {  # one repetition's random numbers as NumPy draws them: confidences, then one uniform a row for the outcomes
    "uniform": lambda rng, n: rng.random(n),
    "skew_high": lambda rng, n: rng.beta(3.0, 0.5, n),
    "skew_low": lambda rng, n: rng.beta(0.5, 3.0, n),
    "bimodal": lambda rng, n: np.where(rng.random(n) < 0.5, rng.beta(0.5, 3.0, n), rng.beta(3.0, 0.5, n)),
    "tight_high": lambda rng, n: rng.uniform(0.8, 1.0, n),
    "tight_low": lambda rng, n: rng.uniform(0.0, 0.2, n),
    "normal": lambda rng, n: rng.normal(0.7, 0.1, n),
    "log_uniform_low": lambda rng, n: np.exp(rng.uniform(np.log(1e-4), np.log1p(-1e-6), n)),
    "log_uniform_high": lambda rng, n: 1.0 - np.exp(rng.uniform(np.log(1e-6), np.log(0.9), n)),
    "bell": lambda rng, n: rng.beta(5.0, 5.0, n),
}


def best(call, rounds):
    "Least processor time of one call."
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def draw(name, rng, n, reps):
    for _ in range(reps):
        DRAWS[name](rng, n)
        rng.random(n)


def main(n_jobs):
    rng = np.random.default_rng(0)
    repetitions("bell", list(MODES), n=1000, n_reps=1)  # compiled
    print(f"NumPy {np.__version__}, Python {sys.version.split()[0]}, {n_jobs} processes")
    simulate(distributions=["bell"], n_reps=1, n_jobs=n_jobs, progress=False)  # the processes are there
    for title, target, arguments in (("Tables 8 and 9: 8,000 runs of 1,000 rows", 5, dict(modes=tuple(MODES))), ("Table 5, N = 100,000: 1,000 runs", 10, dict(sizes=(100_000,))), ("one cell, N = 1,000,000: 100 runs", 12, dict(distributions=("skew_high",), sizes=(1_000_000,)))):
        start = time.perf_counter()
        simulate(**arguments, n_reps=100, n_jobs=n_jobs if len(arguments.get("distributions", DISTRIBUTIONS)) > 1 else 1, progress=False)
        print(f"{title:45} {time.perf_counter() - start:6.2f} s (target: {target} s)")
    print("\nprocessor time per row in ns; a repetition may cost 3 times its draws")
    for n in (10_000, 100_000):
        for name in DISTRIBUTIONS:
            reps = 1_000_000 // n
            ours = best(lambda: repetitions(name, n=n, n_reps=reps), 10) / reps / n
            theirs = best(lambda: draw(name, rng, n, reps), 10) / reps / n
            print(f"  N = {n:>7,}  {name:17} {ours * 1e9:6.1f}  draws {theirs * 1e9:6.1f}  ratio {ours / theirs:4.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
