"""CSR and its spread, one row at a time."""
from math import sqrt


def csr(correct, error_prob, weight, eps):
    total = mass = 0.0
    for right, q, w in zip(correct, error_prob, weight):
        mass += w
        if w and not right:
            total += w / max(q, eps)
    return total / mass


def csr_sigma(error_prob, weight, eps):
    total = mass = 0.0
    for q, w in zip(error_prob, weight):
        mass += w
        if w:
            total += w * (1 - max(q, eps)) / max(q, eps)
    return sqrt(total) / mass
