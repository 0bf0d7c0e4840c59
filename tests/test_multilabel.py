import numpy as np
import pandas as pd
import pytest

from cwcal.decisions.multilabel import multilabel_profiles
from cwcal.decisions.thresholds import youden_thresholds
from cwcal.inputs import InputError
from cwcal.metrics.binned import expected_calibration_error, reliability_table
from cwcal.profile import Profile

Y, S = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1]]), np.array([[0.8, 0.7, 0.1], [0.6, 0.1, 0.2], [0.3, 0.2, 0.9], [0.1, 0.8, 0.5]])


def test_each_label_is_the_binary_problem():
    profiles = multilabel_profiles(Y, S, sample_weight=[1, 2, 0, 1])
    for k in range(3):
        alone = Profile.from_event(Y[:, k], S[:, k], sample_weight=[1, 2, 0, 1])
        assert np.array_equal(profiles[k].conf, alone.conf) and np.array_equal(profiles[k].correct, alone.correct)
        assert expected_calibration_error(profiles[k]) == expected_calibration_error(alone)
        assert youden_thresholds(profiles)[k].thresholds == youden_thresholds(alone)[1].thresholds
        assert reliability_table(profiles[k])["count"].sum() == 4


@pytest.mark.parametrize("n, k", [(1, 2), (2, 2), (50, 2), (50, 7)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_softmax_is_refused_with_the_reason(n, k, dtype):
    rng = np.random.default_rng(0)
    scores, y = rng.dirichlet(np.ones(k), n).astype(dtype), rng.integers(0, 2, (n, k))
    y[0] = 1
    with pytest.raises(InputError, match=r"a softmax says that exactly one label is true.*row 0 has more than one label") as caught:
        multilabel_profiles(y, scores)
    assert caught.value.argument == "scores"


def test_sigmoids_are_not_taken_for_a_softmax():
    multilabel_profiles([[1, 0], [0, 1]], [[0.4, 0.6], [0.4, 0.61]])
    multilabel_profiles([[1], [0]], [[1.0], [1.0]])  # one label cannot be a softmax


def test_frames_are_matched_by_name():
    a = multilabel_profiles(pd.DataFrame(Y, columns=list("abc")), pd.DataFrame(S, columns=list("abc"))[["c", "a", "b"]])
    b = multilabel_profiles(Y, S, labels=list("abc"))
    assert list(a) == ["c", "a", "b"]
    for name in "abc":
        assert np.array_equal(a[name].conf, b[name].conf) and np.array_equal(a[name].correct, b[name].correct)
    one = multilabel_profiles(Y, pd.DataFrame(S, columns=list("abc")))
    assert list(one) == ["a", "b", "c"]


def test_index_is_compared():
    with pytest.raises(InputError, match="same index"):
        multilabel_profiles(pd.DataFrame(Y, index=[3, 2, 1, 0], columns=list("abc")), pd.DataFrame(S, index=[4, 3, 2, 1], columns=list("abc")))


def test_missing_entries_leave_their_label_only():
    y = pd.DataFrame({"a": pd.array([1, None, 0], dtype="Int64"), "b": pd.array([0, 1, 1], dtype="Int64")})
    s = [[0.9, 0.3], [0.2, 0.6], [0.1, 0.7]]
    with pytest.raises(InputError, match="missing"):
        multilabel_profiles(y, s)
    some = multilabel_profiles(y, s, drop_invalid_labels=True)
    assert (some["a"].n, some["a"].n_dropped, some["b"].n) == (2, 1, 3)


@pytest.mark.parametrize("y, s, more, text", [(Y[:, 0], S, {}, "`y_true` must have shape"), (Y, S[:, :2], {}, "one column for each of the 3"), (Y, S, {"labels": ["a", "a", "b"]}, "`labels` must name"), (Y[:2], S, {}, "as many rows"),
                                              (Y, S * 3, {}, "apply the sigmoid"), (Y + 1, S, {}, "`y_true`"), (Y[:, :, None], S, {}, "shape")])
def test_refusals(y, s, more, text):
    with pytest.raises(InputError, match=text):
        multilabel_profiles(y, s, **more)
