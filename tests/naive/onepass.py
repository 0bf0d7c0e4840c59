"The one-pass numbers, each by its own plain loop in exact fractions or by fsum."
import math
from fractions import Fraction


def numbers(conf, correct, error_prob, weight, n_bins, eps):
    rows = [(c, r, max(q, eps), w) for c, r, q, w in zip(conf, correct, error_prob, weight) if w > 0]
    total, claimed = math.fsum(w for *_, w in rows), math.fsum(w * c for c, _, _, w in rows)
    gaps = [[] for _ in range(n_bins)]
    for c, r, _, w in rows:
        gaps[bin_of(c, n_bins)].append(w * (c - r))
    return {
        "n": total,
        "n_errors": math.fsum(w for _, r, _, w in rows if not r),
        "accuracy": math.fsum(w * r for _, r, _, w in rows) / total,
        "mean_conf": claimed / total,
        "cw_accuracy": math.fsum(w * c * r for c, r, _, w in rows) / claimed if claimed else math.nan,
        "csr": math.fsum(math.inf if q == 0 else w / q for _, r, q, w in rows if not r) / total,
        "sigma": math.sqrt(math.fsum(math.inf if q == 0 else w * (1 - q) / q for _, _, q, w in rows)) / total,
        "ece": math.fsum(abs(math.fsum(gap)) for gap in gaps) / total,
        "brier": math.fsum(w * (c - r) ** 2 for c, r, _, w in rows) / total,
    }


def bin_of(c, n_bins):
    "The last bin whose edge b / n_bins, as a float, is not above c."
    return max(b for b in range(n_bins) if float(Fraction(b, n_bins)) <= c)
