"""cwA and the confidence-weighted confusion metrics: hand values, scikit-learn, exact fractions, properties, reported cases."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

from cwcal.inputs import InputError, InputTypeError, InputWarning, UndefinedMetricWarning
from cwcal.metrics import weighted as W
from cwcal.profile import Profile
from naive import weighted as naive

NAMES = ("precision", "recall", "specificity", "npv", "f1", "jaccard", "balanced_accuracy", "mcc")
AVERAGES = (None, "macro", "micro", "weighted")


def quiet(f, *args, **kwargs):
    "f(...), whatever it warns of."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return f(*args, **kwargs)


def warned(f, *args, **kwargs):
    "(f(...), the text of its one warning)."
    with pytest.warns(UndefinedMetricWarning) as caught:
        value = f(*args, **kwargs)
    assert len(caught) == 1
    return value, str(caught[0].message)


def given_predictions(y_true, proba, y_pred, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)  # y_pred is not the most probable class
        return Profile.from_proba(y_true, proba, y_pred=y_pred, **kwargs)


def rough(seed, n=25, k=None, weights=None):
    "Ties, confidences of exactly 0 and 1, absent classes, weights from 0 to 3."
    rng = np.random.default_rng(seed)
    k = k or int(rng.integers(2, 6))
    n = int(rng.integers(1, n + 1))
    w = rng.integers(0, 4, n) + (np.arange(n) == 0) if (seed % 2 if weights is None else weights) else None
    return given_predictions(rng.integers(0, k, n), rng.multinomial(4, np.full(k, 1 / k), size=n) / 4, rng.integers(0, k, n), sample_weight=w)


def rough_where(seed, holds, **kwargs):
    "The first of a row of rough profiles for which `holds`."
    return next(p for p in (rough(s, **kwargs) for s in range(seed, seed + 5000, 50)) if holds(p))


def smooth(seed, n=200, k=4, weights=False):
    "Calibrated Dirichlet predictions; every class occurs and is predicted."
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(k, 0.7), size=n)
    y = (rng.random(n)[:, None] > proba.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    return Profile.from_proba(y, proba, sample_weight=rng.integers(1, 5, n) if weights else None)


# --- accuracy, cwA, gain, standard error


def test_by_hand():
    p = Profile.from_confidence([1, 1, 0, 1], [0.9, 0.7, 0.6, 0.8])
    assert W.accuracy(p) == 0.75
    assert W.cw_accuracy(p) == pytest.approx(0.8, rel=1e-15)
    assert W.cw_gain(p) == pytest.approx(0.2, rel=1e-14)
    assert W.cw_accuracy_se(p) == pytest.approx(np.sqrt(0.308) / 3, rel=1e-14)
    assert all(type(f(p)) is float for f in (W.accuracy, W.cw_accuracy, W.cw_gain, W.cw_accuracy_se))


def test_breast_cancer_row_of_the_paper(vectors):
    "Table 12, isotonic: Acc .9737, cwA .9732, difference -.0005, gain -1.93 % (the row is rebuilt to four digits, so the gain to one)."
    inputs = vectors["17_breastcancer_isotonic_rebuilt"]["inputs"]
    p = Profile.from_confidence(inputs["correct"], inputs["conf"])
    assert round(W.accuracy(p), 4) == 0.9737 and round(W.cw_accuracy(p), 4) == 0.9732
    assert round(W.cw_accuracy(p) - W.accuracy(p), 4) == -0.0005
    assert 100 * W.cw_gain(p) == pytest.approx(-1.93, abs=0.05)


@pytest.mark.parametrize("seed", range(40))
def test_accuracies_against_scikit_learn_and_fractions(seed):
    p = rough(seed)
    w = np.ones(p.n) if p.sample_weight is None else p.sample_weight
    assert W.accuracy(p) == pytest.approx(sk.accuracy_score(p.y_true, p.y_pred, sample_weight=w), rel=1e-14)
    assert W.accuracy(p) == pytest.approx(float(naive.accuracy(p, False)), rel=1e-14)
    if p.sum(p.conf) > 0:
        assert W.cw_accuracy(p) == pytest.approx(sk.accuracy_score(p.y_true, p.y_pred, sample_weight=w * p.conf), rel=1e-14)
        assert W.cw_accuracy(p) == pytest.approx(float(naive.accuracy(p, True)), rel=1e-14)
        if 0 < W.cw_accuracy(p) < 1:
            assert W.cw_accuracy_se(p) == pytest.approx(naive.standard_error(p), rel=1e-13)


def test_standard_error_against_the_jackknife():
    "The infinitesimal and the ordinary jackknife agree to order 1/n."
    rng = np.random.default_rng(5)
    q = rng.beta(1, 3, 2000)
    right = rng.random(2000) >= q
    p = Profile.from_confidence(right, error_prob=q)
    c = 1 - q
    left_out = ((c * right).sum() - c * right) / (c.sum() - c)
    jackknife = np.sqrt((p.n - 1) / p.n * np.sum((left_out - left_out.mean()) ** 2))
    assert W.cw_accuracy_se(p) == pytest.approx(jackknife, rel=3e-3)


@pytest.mark.slow
def test_standard_error_matches_the_spread():
    rng = np.random.default_rng(6)
    q = rng.random((4000, 1000))
    right = rng.random(q.shape) >= q
    values = [(W.cw_accuracy(p), W.cw_accuracy_se(p)) for p in (Profile.from_confidence(r, error_prob=e) for r, e in zip(right, q))]
    estimate, se = np.array(values).T
    assert se.mean() == pytest.approx(estimate.std(), rel=4 / np.sqrt(2 * 4000))
    assert estimate.std() == pytest.approx(0.0160, abs=0.0008)  # a published simulation of this setting


def test_equal_to_plain_when_confidence_is_flat():
    for conf in (1.0, 0.5, 0.1):
        p = Profile.from_confidence([1, 1, 1, 0, 0, 1, 1], error_prob=np.full(7, 1 - conf))
        assert W.cw_accuracy(p) == pytest.approx(W.accuracy(p), rel=1e-15)
        assert abs(W.cw_gain(p)) < 1e-14


@pytest.mark.parametrize("seed", range(30))
def test_covariance_identity_and_range_of_the_gain(seed):
    p = rough_where(seed, lambda p: p.sum(p.conf) > 0 and p.sum(~p.correct) > 0, n=12)
    c, r, total = p.conf, p.correct.astype(float), p.total
    covariance = p.sum((c - p.mean(c)) * (r - p.mean(r))) / total
    assert W.cw_accuracy(p) == pytest.approx(W.accuracy(p) + covariance / p.mean(c), rel=1e-12, abs=1e-14)
    assert -1 <= W.cw_gain(p) <= 1
    assert np.sign(round(W.cw_gain(p), 12)) == np.sign(round(covariance, 12))


def test_gain_reaches_both_ends():
    assert W.cw_gain(Profile.from_confidence([1, 0], error_prob=[0.2, 1])) == 1
    assert W.cw_gain(Profile.from_confidence([1, 0], error_prob=[1, 0.2])) == -0.5  # cwA 0: the gap is all of 1
    nearly = Profile.from_confidence([1] * 999 + [0], error_prob=[1.0] * 999 + [0.0])
    assert W.cw_gain(nearly) == pytest.approx(-0.999, rel=1e-12)


@pytest.mark.parametrize("f, rows, reason", [
    (W.cw_accuracy, ([1, 0], [1, 1]), "every confidence is 0"),
    (W.cw_gain, ([1, 0], [1, 1]), "every confidence is 0"),
    (W.cw_accuracy_se, ([1, 0], [1, 1]), "every confidence is 0"),
    (W.cw_gain, ([1, 1], [0.3, 0]), "no answer is wrong"),
    (W.cw_accuracy_se, ([1, 1], [0.3, 0]), "with confidence are right"),
    (W.cw_accuracy_se, ([0], [0.3]), "with confidence are wrong"),
    (W.cw_accuracy_se, ([1, 0], [0.3, 1]), "with confidence are right"),
])
def test_undefined_with_its_reason(f, rows, reason):
    value, text = warned(f, Profile.from_confidence(rows[0], error_prob=rows[1]))
    assert np.isnan(value) and f.__name__ in text and reason in text


def test_all_right_is_exactly_one_under_any_weights():
    "1 by sums of floats that need not agree to the last digit; otherwise the gain of 0/0 would be a number."
    rng = np.random.default_rng(8)
    for n in (3, 7, 50, 1001):
        p = Profile.from_confidence(np.ones(n, bool), error_prob=rng.random(n), sample_weight=rng.random(n))
        assert W.accuracy(p) == 1.0 and W.cw_accuracy(p) == 1.0
        assert np.isnan(warned(W.cw_gain, p)[0])


# --- counts


@pytest.mark.parametrize("seed", range(40))
def test_counts_against_fractions_and_scikit_learn(seed):
    p = rough(seed)
    w = np.ones(p.n) if p.sample_weight is None else p.sample_weight
    for by_confidence, frame, weight in ((False, W.confusion(p), w), (True, W.cw_confusion(p), w * p.conf)):
        assert list(frame.columns) == ["tp", "fp", "fn", "tn"] and frame.index.tolist() == list(p.classes)
        exact = [[float(x) for x in naive.counts(p, k, by_confidence)] for k in range(p.n_classes)]
        np.testing.assert_allclose(frame, exact, rtol=1e-14, atol=0)
        if not weight.any():
            continue  # no confidence at all: scikit-learn refuses
        table = sk.multilabel_confusion_matrix(p.y_true, p.y_pred, labels=range(p.n_classes), sample_weight=weight)  # [[tn, fp], [fn, tp]]
        np.testing.assert_allclose(frame, table.reshape(-1, 4)[:, [3, 1, 2, 0]], rtol=1e-12, atol=1e-12)


def test_plain_counts_are_whole_numbers_without_weights():
    assert (W.confusion(smooth(0)).dtypes == np.int64).all()
    assert (W.confusion(smooth(0, weights=True)).dtypes == np.float64).all()


def test_true_negatives_do_not_cancel():
    "Their rows carry 1e-30 of the confidence: a difference from the total would leave a rounding error of 1e-16 or 0."
    y, z = [0, 0, 1, 1, 2], [0, 1, 0, 2, 1]
    q = np.array([0.1, 0.1, 0.1, 1.0, 1.0])
    conf = np.where(q == 1, 1e-30, 0.9)
    proba = np.full((5, 3), 0.05)
    proba[np.arange(5), z] = conf
    p = given_predictions(y, proba, z, normalized=False)
    assert W.cw_confusion(p)["tn"].tolist() == pytest.approx([2e-30, 0.9, 2.7], rel=1e-14, abs=0)
    assert W.cw_npv(p, average=None)[0] == pytest.approx(2e-30 / 0.9, rel=1e-14, abs=0)


@pytest.mark.parametrize("total", [1e-10, 1.0, 1e12])
def test_scale_of_the_weights_does_not_matter(total):
    p, q = smooth(3, k=3), smooth(3, k=3)
    q = Profile.from_proba(q.y_true, q.proba, sample_weight=np.full(q.n, total))
    for name in NAMES:
        for prefix in ("", "cw_"):
            np.testing.assert_allclose(getattr(W, prefix + name)(q, average=None), getattr(W, prefix + name)(p, average=None), rtol=1e-12)


# --- the metrics


@pytest.mark.parametrize("seed", range(60))
def test_metrics_against_fractions(seed):
    p = rough(seed)
    for name in NAMES:
        for prefix, by_confidence in (("", False), ("cw_", True)):
            f = getattr(W, prefix + name)
            for average in AVERAGES:
                value = quiet(f, p, average=average)
                np.testing.assert_allclose(value, naive.metric(p, name, average, by_confidence), rtol=1e-12, atol=1e-14, err_msg=f"{prefix}{name} {average}")
                assert not np.any(np.signbit(np.asarray(value)) & (np.asarray(value) == 0)), "minus zero"
                assert average is None and value.shape == (p.n_classes,) or type(value) is float


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("average", AVERAGES)
def test_metrics_against_scikit_learn(seed, average, weights):
    p = smooth(seed, weights=weights)
    w = np.ones(p.n) if p.sample_weight is None else p.sample_weight
    for prefix, weight in (("", w), ("cw_", w * p.conf)):
        precision, recall, f1, _ = sk.precision_recall_fscore_support(p.y_true, p.y_pred, average=average, sample_weight=weight)
        jaccard = sk.jaccard_score(p.y_true, p.y_pred, average=average, sample_weight=weight)
        for name, value in (("precision", precision), ("recall", recall), ("f1", f1), ("jaccard", jaccard)):
            np.testing.assert_allclose(getattr(W, prefix + name)(p, average=average), value, rtol=1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("average", AVERAGES)
def test_undefined_classes_as_scikit_learn_skips_them(seed, average):
    p = rough(seed)
    w = np.ones(p.n) if p.sample_weight is None else p.sample_weight
    values = sk.precision_recall_fscore_support(p.y_true, p.y_pred, labels=range(p.n_classes), average=average, sample_weight=w, zero_division=np.nan)
    for name, value in zip(("precision", "recall", "f1"), values):
        ours = quiet(getattr(W, name), p, average=average)
        if average == "weighted" and np.isnan(ours):
            assert value == 0 or np.isnan(value)  # no defined class has weight: scikit-learn may put 0, which is no value
        else:
            np.testing.assert_allclose(ours, value, rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_binary_mcc_and_balanced_accuracy_against_scikit_learn(seed):
    p = smooth(seed, k=2, weights=seed % 2 == 1)
    w = np.ones(p.n) if p.sample_weight is None else p.sample_weight
    for prefix, weight in (("", w), ("cw_", w * p.conf)):
        mcc, balanced = sk.matthews_corrcoef(p.y_true, p.y_pred, sample_weight=weight), sk.balanced_accuracy_score(p.y_true, p.y_pred, sample_weight=weight)
        np.testing.assert_allclose(getattr(W, prefix + "mcc")(p, average=None), [mcc, mcc], rtol=1e-12)
        np.testing.assert_allclose(getattr(W, prefix + "balanced_accuracy")(p, average=None), [balanced, balanced], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_one_vs_rest_mcc_against_scikit_learn(seed):
    p = smooth(seed, k=5)
    for k, value in enumerate(W.cw_mcc(p, average=None)):
        assert value == pytest.approx(sk.matthews_corrcoef(p.y_true == k, p.y_pred == k, sample_weight=p.conf), rel=1e-12)


def test_perfect_and_worst_predictor():
    proba = np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]])
    perfect, worst = Profile.from_proba([0, 1, 0], proba), Profile.from_proba([1, 0, 1], proba)
    for name in NAMES:
        assert getattr(W, name)(perfect) == getattr(W, "cw_" + name)(perfect) == 1.0
        assert getattr(W, name)(worst) == getattr(W, "cw_" + name)(worst) == (-1.0 if name == "mcc" else 0.0)


def test_independent_prediction_has_mcc_exactly_zero():
    p = given_predictions([0, 0, 1, 1], [[0.5, 0.5]] * 4, [0, 1, 0, 1])
    assert W.mcc(p) == 0.0 and str(W.mcc(p)) == "0.0" and str(W.cw_mcc(p)) == "0.0"


# --- theorems


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("seed", range(10))
def test_sum_of_one_vs_rest_accuracies(seed, k):
    p = rough_where(seed, lambda p: p.sum(p.conf) > 0, k=k)
    tp, fp, fn, tn = W.cw_confusion(p).to_numpy().T
    total = tp + fp + fn + tn
    assert np.allclose(total, p.sum(p.conf), rtol=1e-13)
    assert ((tp + tn) / total).sum() == pytest.approx(k - 2 + 2 * W.cw_accuracy(p), rel=1e-12)
    assert W.cw_accuracy(p) == pytest.approx(tp.sum() / (tp + fn).sum(), rel=1e-12)


# --- the same answer however the rows come


@pytest.mark.parametrize("seed", range(15))
def test_row_order_weights_and_column_order(seed):
    p = rough(seed, weights=True)
    rng = np.random.default_rng(seed)
    order, columns = rng.permutation(p.n), rng.permutation(p.n_classes)
    repeated = np.repeat(np.arange(p.n), p.sample_weight.astype(int))
    new_code = np.argsort(columns)
    others = {
        "shuffled": given_predictions(p.y_true[order], p.proba[order], p.y_pred[order], sample_weight=p.sample_weight[order]),
        "repeated": given_predictions(p.y_true[repeated], p.proba[repeated], p.y_pred[repeated]),
        "columns": given_predictions(new_code[p.y_true], p.proba[:, columns], new_code[p.y_pred], sample_weight=p.sample_weight),
        "renamed": given_predictions([f"c{v}" for v in p.y_true], p.proba, [f"c{v}" for v in p.y_pred], classes=[f"c{k}" for k in range(p.n_classes)], sample_weight=p.sample_weight),
    }
    for how, other in others.items():
        for f in (W.accuracy, W.cw_accuracy, W.cw_gain, W.cw_accuracy_se):
            np.testing.assert_allclose(quiet(f, other), quiet(f, p), rtol=1e-12, err_msg=how)
        for name in NAMES:
            for prefix in ("", "cw_"):
                f = getattr(W, prefix + name)
                np.testing.assert_allclose(quiet(f, other), quiet(f, p), rtol=1e-12, atol=1e-14, err_msg=how)
                if how == "columns":
                    np.testing.assert_allclose(quiet(f, other, average=None), quiet(f, p, average=None)[columns], rtol=1e-12, atol=1e-14)


# --- one policy for what is undefined


def test_never_predicted_class():
    "NUM-16: no row is predicted positive and none is."
    p = Profile.from_positive([0, 0, 0], [0.2, 0.2, 0.4])
    for f in (W.precision, W.recall, W.f1, W.jaccard, W.cw_precision, W.cw_recall, W.cw_f1, W.cw_jaccard):
        values, text = warned(f, p, average=None)
        assert values[0] == 1 and np.isnan(values[1]) and "1 of 2 classes" in text and f.__name__ in text
        value, text = warned(f, p)
        assert value == 1 and "the macro average skips it" in text
    table, text = warned(W.cw_metrics, p)
    assert "-0.0" not in table.to_string() and "precision for 1 of 2 classes" in text and table.loc["accuracy", "plain"] == 1


def test_constant_predictor_has_no_mcc():
    "NUM-18: with and without confidences."
    proba = [[1 - c, c] for c in (0.9, 0.8, 0.7, 0.6)]
    p = Profile.from_proba([0, 1, 1, 0], proba, y_pred=[1, 1, 1, 1])
    for f in (W.mcc, W.cw_mcc):
        for average in (None, "macro", "weighted"):
            value, text = warned(f, p, average=average)
            assert np.isnan(value).all() and "2 of 2 classes" in text
    assert W.mcc(p, average="micro") == 0.0


def test_weight_zero_row_does_not_count():
    "WGT-01."
    p = Profile.from_confidence([1, 0, 0], error_prob=[0.2, 0.1, 0.1], sample_weight=[1, 0, 0])
    assert W.accuracy(p) == 1.0 and W.cw_accuracy(p) == 1.0
    with pytest.raises(TypeError):
        W.accuracy(p, sample_weight=[1, 1, 1])


def test_undefined_class_without_weight_is_skipped_and_reported():
    "WGT-03: per class [0.8, NaN] with weights [5, 0] is 0.8, not NaN."
    p = given_predictions([0] * 5, [[0.75, 0.25]] * 5, [0, 0, 0, 0, 1])
    value, text = warned(W.recall, p, average="weighted")
    assert value == 0.8 and "1 of 2 classes (1): it does not occur" in text


def test_only_undefined_classes_carry_weight():
    p = given_predictions([0, 0], [[0.5, 0.5]] * 2, [1, 1])  # precision of 0 is undefined, class 1 has weight 0
    value, text = warned(W.precision, p, average="weighted")
    assert np.isnan(value) and "no class is left" in text


def test_classes_come_from_the_columns():
    "LAB-01: class 1 never occurs and is never predicted; it is in the table all the same."
    p = Profile.from_proba([0, 0, 0], [[0.7, 0.3], [0.65, 0.35], [0.95, 0.05]])
    assert W.confusion(p).to_numpy().tolist() == [[3, 0, 0, 0], [0, 0, 0, 3]]
    assert W.accuracy(p) == W.cw_accuracy(p) == 1.0
    assert warned(W.precision, p)[0] == 1.0


def test_one_class_only():
    "SML-01: one class in the labels, both in the predictions."
    p = Profile.from_positive([1, 1, 1], [0.2, 0.6, 0.9])
    values, text = warned(W.specificity, p, average=None)
    assert values[0] == pytest.approx(2 / 3) and np.isnan(values[1]) and "no other class occurs" in text
    value, text = warned(W.balanced_accuracy, p)
    assert np.isnan(value) and "2 of 2 classes" in text
    assert np.isnan(warned(W.cw_mcc, p)[0])


def test_a_single_row():
    p = Profile.from_proba([1], [[0.3, 0.7]])
    assert W.accuracy(p) == W.cw_accuracy(p) == 1.0
    assert np.isnan(warned(W.cw_accuracy_se, p)[0]) and np.isnan(warned(W.mcc, p)[0])


def test_confidence_zero_makes_only_the_weighted_one_undefined():
    p = given_predictions([0, 1, 1], [[0, 1], [0.5, 0.5], [0.25, 0.75]], [0, 1, 1])
    assert W.recall(p, average=None).tolist() == [1, 1]
    values, text = warned(W.cw_recall, p, average=None)
    assert np.isnan(values[0]) and values[1] == 1 and "rows of confidence 0 do not count" in text


def test_no_confidence_at_all():
    p = given_predictions([0, 1], [[0, 1], [1, 0]], [0, 1])
    for name in NAMES:
        for average in AVERAGES:
            value, text = warned(getattr(W, "cw_" + name), p, average=average)
            assert np.isnan(value).all() and "every confidence is 0" in text
    table, text = warned(W.cw_metrics, p)
    assert table[["weighted", "difference", "gain"]].isna().all(axis=None) and "every confidence is 0" in text


def test_warning_points_at_the_caller():
    p = Profile.from_positive([0, 0, 0], [0.2, 0.2, 0.4])
    for f in (W.precision, W.cw_metrics):
        with pytest.warns(UndefinedMetricWarning) as caught:
            f(p)
        assert caught[0].filename == __file__


# --- the table


@pytest.mark.parametrize("average", AVERAGES[1:])
def test_table_holds_the_functions_values(average):
    p = smooth(11, weights=True)
    table = W.cw_metrics(p, average=average)
    assert table.index.tolist() == ["accuracy", *NAMES] and table.columns.tolist() == ["plain", "weighted", "difference", "gain"]
    for name in NAMES:
        a, b = getattr(W, name)(p, average=average), getattr(W, "cw_" + name)(p, average=average)
        assert table.loc[name].tolist() == pytest.approx([a, b, b - a, (b - a) / (1 - min(a, b))], rel=1e-13)
    assert table.loc["accuracy"].tolist() == pytest.approx([W.accuracy(p), W.cw_accuracy(p), W.cw_accuracy(p) - W.accuracy(p), W.cw_gain(p)], rel=1e-12)


def test_table_of_a_perfect_predictor_has_no_gain():
    table, text = warned(W.cw_metrics, Profile.from_positive([1, 0], [0.8, 0.1]))
    assert (table[["plain", "weighted"]] == 1).all(axis=None) and table["gain"].isna().all() and "being 1 already" in text


# --- bad arguments


@pytest.mark.parametrize("f", [getattr(W, prefix + name) for prefix in ("", "cw_") for name in NAMES] + [W.cw_metrics, W.confusion, W.cw_confusion])
def test_needs_labels_and_a_top_label_profile(f):
    with pytest.raises(InputError, match="needs true and predicted classes"):
        f(Profile.from_confidence([1, 0], [0.9, 0.8]))
    with pytest.raises(InputError, match="is about the predicted class"):
        f(Profile.from_event([1, 0], [0.9, 0.8]))
    with pytest.raises(InputTypeError, match="takes a Profile first"):
        f(np.array([0.3, 0.4]))
    if "confusion" not in f.__name__:
        with pytest.raises(InputError, match="`average` must be one of") as caught:
            f(smooth(0, n=40, k=2), average="samples")
        assert caught.value.argument == "average"


@pytest.mark.parametrize("f", [W.accuracy, W.cw_accuracy, W.cw_gain, W.cw_accuracy_se])
def test_accuracies_refuse_events(f):
    with pytest.raises(InputError, match=f"`{f.__name__}` is about the predicted class"):
        f(Profile.from_event([1, 0], [0.9, 0.8]))


def test_frames_keep_the_class_labels():
    p = Profile.from_proba(["NA", "b"], [[0.9, 0.1], [0.4, 0.6]], classes=["NA", "b"])
    pd.testing.assert_index_equal(W.cw_confusion(p).index, pd.Index(["NA", "b"], name="class"))
