import warnings

import numpy as np
import pytest

from cwcal.inputs import InputError, InputWarning, UndefinedMetricWarning
from cwcal.metrics.cwsa import cwsa, cwsa_plus
from cwcal.profile import Profile
from tests import vectors
from tests.naive import cwsa as naive


def profile(correct, conf, **w):
    "Confidences below one half are meant here."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        return Profile.from_confidence(correct, conf, **w)


@pytest.mark.parametrize("seed", range(40))
def test_naive_twin_with_ties_weights_and_exact_ends(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    c, y = rng.integers(0, 11, n) / 10, rng.random(n) < 0.6
    w = [None, rng.integers(0, 3, n).astype(float), rng.random(n) + 0.01][seed % 3]
    if w is not None:
        w[0] = 1.0
    p = profile(y, c, sample_weight=w)
    for tau in (0, 0.3, 0.5, 0.9, 1, 1.0):
        for metric, plus in ((cwsa, False), (cwsa_plus, True)):
            expected = naive.cwsa(c, y, tau, w, plus)
            if expected is None:
                with pytest.warns(UndefinedMetricWarning, match="nothing was accepted"):
                    assert np.isnan(metric(p, tau=tau))
            else:
                assert abs(metric(p, tau=tau) - expected) < 1e-14


def test_weight_function():
    p = profile([1, 0, 1, 1], [0.6, 0.8, 0.9, 0.3])
    assert np.isclose(cwsa(p, weight=lambda c: c**2), (0.36 - 0.64 + 0.81) / 3)
    assert np.isclose(cwsa_plus(p, tau=0.0, weight=np.ones_like), 0.75)


def test_row_order_and_duplicates():
    rng = np.random.default_rng(0)
    c, y, w = rng.random(200), rng.random(200) < 0.5, rng.integers(0, 3, 200).astype(float)
    k, order = w.astype(int), rng.permutation(200)
    for metric in (cwsa, cwsa_plus):
        value = metric(profile(y, c, sample_weight=w))
        assert np.isclose(value, metric(profile(np.repeat(y, k), np.repeat(c, k))), rtol=1e-12)
        assert np.isclose(value, metric(profile(y[order], c[order], sample_weight=w[order])), rtol=1e-12)
        assert type(value) is float


@pytest.mark.parametrize("arguments, argument", [(dict(tau=-0.1), "tau"), (dict(tau=np.nan), "tau"), (dict(tau="0.5"), "tau"), (dict(weight=1.0), "weight"),
                                                 (dict(weight=lambda c: 1.0), "weight"), (dict(weight=lambda c: c * np.nan), "weight")])
def test_bad_arguments_are_named(arguments, argument):
    for metric in (cwsa, cwsa_plus):
        with pytest.raises(InputError) as caught:
            metric(profile([1, 0], [0.6, 0.9]), **arguments)
        assert caught.value.argument == argument
    with pytest.raises(InputError, match="predicted class"):
        cwsa(Profile.from_event([1, 0], [0.6, 0.9]))


DIFFER = {
    ("authors", "CWSA", None): "divided by all rows instead of the accepted ones",
    ("authors", "CWSA+", ("04_bin_rare", "11_tiny_n1", "11_tiny_n2", "11_tiny_n4")): "0 instead of undefined when nothing is accepted",
    ("formula", "CWSA", ("04_bin_rare", "11_tiny_n1", "11_tiny_n2", "11_tiny_n4")): "0 instead of undefined when nothing is accepted",
}


@pytest.mark.parametrize("name", vectors.NAMES)
def test_other_implementations(name):
    def of(metric):
        def value(p, r):
            q = profile(p.correct, p.conf)  # the sets of kind binary are read as (conf, correct)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UndefinedMetricWarning)
                return [metric(q, tau=r["params"]["tau"])]
        return value

    matched, differing = vectors.compare(name, {"CWSA": of(cwsa), "CWSA+": of(cwsa_plus)}, DIFFER)
    assert matched + differing == 6 and matched >= (0 if name in ("04_bin_rare", "11_tiny_n1") else 2)


@pytest.mark.parametrize("name", vectors.NAMES)
def test_the_authors_normalisation_is_ours_times_the_accepted_share(name):
    p = vectors.profile(vectors.load(name)["inputs"])
    for r in vectors.load(name)["results"]:
        if r["metric"] == "CWSA" and r["implementation"].startswith("authors"):
            tau = r["params"]["tau"]
            share = np.mean(p.conf >= tau)
            ours = cwsa(profile(p.correct, p.conf), tau=tau) * share if share else 0.0
            assert abs(ours - r["value"]) < 1e-9


def test_the_papers_row():
    p = vectors.profile(vectors.load("17_breastcancer_isotonic_rebuilt")["inputs"])
    assert abs(cwsa(p) - 0.9415) < 2e-4 and abs(cwsa_plus(p) - 0.9683) < 2e-4
