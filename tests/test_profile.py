"""The door: containers, labels, probabilities, and one clear error for each way to get them wrong."""
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cwcal.inputs import InputError, InputTypeError, InputWarning, PrecisionWarning, to_array
from cwcal.profile import Profile


class FakeTensor:
    "What a torch tensor can do, without torch: it needs detaching and a move to the CPU before numpy()."

    def __init__(self, values, dtype="torch.float32", ready=False):
        self.values, self.dtype, self.ready = np.asarray(values), dtype, ready

    def detach(self):
        return FakeTensor(self.values, self.dtype, True)

    def cpu(self):
        return self

    def float(self):
        return FakeTensor(self.values.astype(np.float32), "torch.float32", True)

    def numpy(self):
        if not self.ready:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")
        if "bfloat16" in self.dtype:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values


LABELS, NUMBERS = [1, 0, 1, 1], [0.9, 0.25, 0.4, 0.75]
LABEL_BOXES = {
    "list": LABELS, "tuple": tuple(LABELS), "int8": np.array(LABELS, np.int8), "bool": np.array(LABELS, bool), "float": np.array(LABELS, float), "object": np.array(LABELS, object),
    "column": np.array(LABELS)[:, None], "series": pd.Series(LABELS), "Int64": pd.Series(LABELS, dtype="Int64"), "boolean": pd.Series(LABELS, dtype="boolean"), "Float64": pd.Series(LABELS, dtype="Float64"),
    "int64[pyarrow]": pd.Series(LABELS, dtype="int64[pyarrow]"), "category": pd.Series(LABELS, dtype="category"), "Categorical": pd.Categorical(LABELS), "Index": pd.Index(LABELS), "frame": pd.DataFrame({"y": LABELS}),
    "polars": pl.Series(LABELS), "polars frame": pl.DataFrame({"y": LABELS}), "pyarrow": pa.array(LABELS), "chunked": pa.chunked_array([LABELS[:1], LABELS[1:]]), "tensor": FakeTensor(LABELS, "torch.int64"),
}


@pytest.mark.parametrize("box", LABEL_BOXES)
def test_label_containers(box):
    p = Profile.from_positive(LABEL_BOXES[box], NUMBERS)
    assert p.correct.tolist() == [True, True, False, True]
    assert p.y_true.tolist() == LABELS


@pytest.mark.parametrize("box", ["list", "Float64", "double[pyarrow]", "polars", "pyarrow", "object", "(n, 1)", "(n, 2)", "frame (n, 2)", "tensor"])
def test_probability_containers(box):
    two = np.c_[1 - np.array(NUMBERS), NUMBERS]
    values = {"list": NUMBERS, "Float64": pd.Series(NUMBERS, dtype="Float64"), "double[pyarrow]": pd.Series(NUMBERS, dtype="double[pyarrow]"), "polars": pl.Series(NUMBERS), "pyarrow": pa.array(NUMBERS),
              "object": np.array(NUMBERS, object), "(n, 1)": np.array(NUMBERS)[:, None], "(n, 2)": two, "frame (n, 2)": pl.DataFrame(two), "tensor": FakeTensor(np.array(NUMBERS))}[box]
    p = Profile.from_positive(LABELS, values)
    assert p.conf.tolist() == [0.9, 0.75, 0.6, 0.75] and p.correct.tolist() == [True, True, False, True]


def test_text_labels_in_every_container():
    y = ["yes", "no", "yes", "yes"]
    for box in (y, np.array(y), np.array(y, object), pd.Series(y), pd.Series(y, dtype="category"), pd.Series(y, dtype="string[pyarrow]"), pl.Series(y), pl.Series(y, dtype=pl.Categorical), pa.array(y)):
        p = Profile.from_positive(box, NUMBERS, pos_label="yes")
        assert p.classes == ("no", "yes") and p.correct.tolist() == [True, True, False, True]


def test_proba_is_kept_uncopied_in_its_dtype():
    proba = np.array([[0.25, 0.75], [0.5, 0.5]], dtype=np.float32)
    p = Profile.from_proba([1, 0], proba)
    assert p.proba is proba and p.conf.dtype == p.error_prob.dtype == np.float64


def test_large_matrix_is_reduced_in_blocks():
    import tracemalloc

    proba = np.full((200_000, 20), 0.05, dtype=np.float32)
    y = np.zeros(200_000, dtype=np.int64)
    tracemalloc.start()
    Profile.from_proba(y, proba)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000 * 20 * 8  # less than one float64 copy of the matrix


@pytest.mark.parametrize("labels", [[1, None, 0, 1], [1, np.nan, 0, 1], pd.Series([1, None, 0, 1], dtype="Int64"), pl.Series([1, None, 0, 1]), pa.array([1, None, 0, 1]), [1, 0.5, 0, 1]])
def test_missing_labels_are_refused_by_row_or_dropped_on_request(labels):
    with pytest.raises(InputError, match=r"`y_true` must hold one of the classes 0, 1, got .* at row 1") as e:
        Profile.from_positive(labels, NUMBERS)
    assert e.value.argument == "y_true" and e.value.rows.tolist() == [1]
    p = Profile.from_positive(labels, NUMBERS, drop_invalid_labels=True, sample_weight=[1, 2, 3, 4])
    assert (p.n, p.n_dropped, p.kept.tolist(), p.sample_weight.tolist()) == (3, 1, [0, 2, 3], [1, 3, 4])
    assert "1 of 4 rows were left out" in p.notes[0]


def test_all_labels_missing():
    with pytest.raises(InputError, match="2 rows, none with one"):
        Profile.from_positive([None, None], [0.5, 0.6], pos_label=1, drop_invalid_labels=True)


@pytest.mark.parametrize("call, said", [
    (lambda: Profile.from_proba([0, 1], [[3.2, -2.2], [-0.4, 1.4]]), r"`proba` must lie in \[0, 1\], got 3.2 at row 0 .*Profile.from_logits"),
    (lambda: Profile.from_proba([0, 1, 1], [[0.9, 0.1], [0.0, 0.0], [0.2, 0.8]]), "got 0 at row 1; the row is all zero"),
    (lambda: Profile.from_proba([0], [[0.6, 0.265, 0.0]]), "got 0.865 at row 0; divide by the row sums"),
    (lambda: Profile.from_proba([0, 1], [0.2, 0.8]), "use from_positive, from_event or from_confidence"),
    (lambda: Profile.from_proba([[0, 1], [1, 0]], [[[0.9, 0.1], [0.4, 0.6]], [[0.2, 0.8], [0.7, 0.3]]]), "multi-label problem as its own binary problem"),
    (lambda: Profile.from_positive([[0, 1], [1, 0]], [0.2, 0.8]), "evaluate each label as its own binary problem"),
    (lambda: Profile.from_positive([0.9, 0.2, 0.4], [1, 0, 1]), "the two look swapped"),
    (lambda: Profile.from_confidence([0.9, 0.2, 0.4], [1, 0, 1]), "the two look swapped"),
    (lambda: Profile.from_positive([0, 1], [np.nan, np.nan]), r"`p_pos` must be finite, got nan at row 0 \(2 rows\)"),
    (lambda: Profile.from_positive([0, 1], [0.1, np.inf]), "must be finite, got inf at row 1"),
    (lambda: Profile.from_positive([0, 1], pd.Series([0.1, None], dtype="Float64")), "must not have missing values, got a missing value at row 1"),
    (lambda: Profile.from_positive([0, 1], [0.1, None]), "must not have missing values, got a missing value at row 1"),
    (lambda: Profile.from_positive([0, 1, 1], [0.1, 0.2]), "`p_pos` must have as many rows as `y_true`, got 2 and 3"),
    (lambda: Profile.from_positive([0, 1], [0.1, 1.00001]), r"must lie in \[0, 1\], got 1.00001 at row 1"),
    (lambda: Profile.from_positive([], []), "at least one row"),
    (lambda: Profile.from_positive(["a", "b"], [0.1, 0.2]), "`pos_label` must be given"),
    (lambda: Profile.from_positive([3, 5], [0.1, 0.2]), "`pos_label` must be given"),
    (lambda: Profile.from_positive(["a", "b", "c"], [0.1, 0.2, 0.3], pos_label="a"), "must hold two classes, got 3"),
    (lambda: Profile.from_proba(["1", "2", "10"], np.eye(3)), "`classes` must be given"),
    (lambda: Profile.from_proba([1, 2, 3], np.eye(3)), "must hold one of the classes 0, 1, 2, got 3 at row 2"),
    (lambda: Profile.from_proba(["a", "x"], np.eye(2), classes=["a", "b"]), "must hold one of the classes 'a', 'b', got 'x' at row 1"),
    (lambda: Profile.from_proba([0, 1], np.eye(2), classes=["a", "a"]), "must name the 2 columns"),
    (lambda: Profile.from_proba([0, 1], np.eye(2), y_pred=[0, 7]), "`y_pred` must hold one of the classes, got 7 at row 1"),
    (lambda: Profile.from_confidence([1, 0]), "exactly one of the two, got none"),
    (lambda: Profile.from_confidence([1, 0], [0.5, 0.5], error_prob=[0.5, 0.5]), "exactly one of the two, got both"),
    (lambda: Profile.from_confidence([1, 2], [0.5, 0.5]), "`correct` must be 0 or 1, got 2 at row 1"),
    (lambda: Profile.from_confidence([1, 0], [0.5, 0.5], sample_weight=[0, 0]), "must not sum to 0"),
    (lambda: Profile.from_confidence([1, 0], [0.5, 0.5], sample_weight=[1, -1]), "must not be negative, got -1.0 at row 1"),
    (lambda: Profile.from_logits([0, 1], [[0.0, np.nan], [0, 0]]), "`logits` must be finite, got nan at row 0"),
    (lambda: Profile.from_logits([0, 1], [[-np.inf, -np.inf], [0, 0]]), "must leave one class possible"),
    (lambda: Profile.from_positive([0, 1], [[0.2, 0.3, 0.5]] * 2), r"shape \(n,\) or \(n, 1\), got shape \(2, 3\)"),
])
def test_bad_values(call, said):
    with pytest.raises(InputError, match=said):
        call()


@pytest.mark.parametrize("call", [lambda: Profile.from_positive("0110", [0.1] * 4), lambda: Profile.from_positive([0, 1], ["0.1", "x"]), lambda: Profile.from_positive([0, 1], {"a": 1})])
def test_wrong_kinds_are_type_errors(call):
    with pytest.raises(TypeError):
        call()


def test_tolerated_excess_is_set_back_and_noted():
    p = Profile.from_confidence([1, 0], np.exp([2.4e-7, -0.1]))
    assert p.conf[0] == 1.0 and "1 row had a probability outside" in p.notes[0]


def test_row_sums_tolerance_grows_with_dtype():
    third = np.array([[0.33335] * 3, [0.9, 0.06, 0.04]], dtype=np.float32)
    assert Profile.from_proba([0, 0], third).proba is third  # accepted, and not renormalised
    half = np.array([[0.3333, 0.3333, 0.333]], dtype=np.float16)
    assert Profile.from_proba([0], half).n == 1


def test_bfloat16_rows_are_refused_when_they_sum_to_less():
    with pytest.raises(InputError, match="got 0.865"):
        Profile.from_proba([0], FakeTensor([[0.6, 0.265, 0.0]], "torch.bfloat16"))


def test_per_class_scores_need_not_sum_to_one():
    p = Profile.from_proba([0, 1], [[0.9, 0.8, 0.1], [0.2, 0.3, 0.1]], normalized=False)
    assert p.conf.tolist() == [0.9, 0.3] and np.allclose(p.error_prob, [0.1, 0.7], rtol=0, atol=1e-15)


@pytest.mark.parametrize("dtype, conf, affected", [("float16", 1.0, 1), ("float32", 1.0, 1), ("float32", 0.999, 0), ("float16", 0.9, 0)])
def test_low_precision_confidences_warn(dtype, conf, affected):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        p = Profile.from_confidence([0, 1], np.array([conf, 0.75], dtype=dtype))
        q = Profile.from_positive([0, 1], np.array([conf, 0.75], dtype=dtype))
    assert len([w for w in caught if w.category is PrecisionWarning]) == 2 * affected
    assert len(p.notes) == len(q.notes) == affected
    assert np.isfinite(p.error_prob).all() and p.error_prob.dtype == np.float64


def test_error_prob_keeps_what_the_source_knows():
    assert Profile.from_positive([1], [1e-300]).error_prob[0] == 1e-300  # the negative class is predicted
    assert Profile.from_proba([0], [[1.0, 2.0**-70, 2.0**-69]]).error_prob[0] == 3 * 2.0**-70  # the other columns
    assert Profile.from_positive([1], [[1e-30, 1.0]]).error_prob[0] == 1e-30
    assert Profile.from_confidence([1], [0.75]).error_prob[0] == 0.25


def test_logits_against_exact_arithmetic():
    from fractions import Fraction
    from math import exp

    # 1 / (1 + e^m) for a margin m: at m = 40 the complement of 1 - 4e-18 cannot be formed in float64
    p = Profile.from_logits([1, 1], [40.0, 700.0])
    assert np.allclose(p.error_prob, [exp(-40) / (1 + exp(-40)), exp(-700)], rtol=1e-14, atol=0)
    q = Profile.from_logits([0], [[30.0, 0.0, -1.0]])
    s = Fraction(exp(-30)) + Fraction(exp(-31))
    assert np.isclose(q.error_prob[0], float(s / (1 + s)), rtol=1e-14, atol=0)
    assert np.allclose(q.log_error_prob, np.log(float(s / (1 + s))), rtol=1e-14)
    assert np.isclose(q.scores(1)[0], exp(-30) / (1 + exp(-30) + exp(-31)), rtol=1e-13)


def test_logits_and_softmax_agree():
    rng = np.random.default_rng(0)
    m = rng.normal(0, 3, (300, 4))
    proba = np.exp(m) / np.exp(m).sum(1, keepdims=True)
    y = rng.integers(0, 4, 300)
    a, b = Profile.from_logits(y, m), Profile.from_proba(y, proba)
    assert np.array_equal(a.y_pred, b.y_pred) and np.allclose(a.conf, b.conf, atol=1e-14) and np.allclose(a.error_prob, b.error_prob, atol=1e-14)
    assert all(np.allclose(a.scores(k), b.scores(k), atol=1e-14) for k in range(4))


def test_minus_infinity_excludes_a_class():
    p = Profile.from_logits([0], [[0.0, -np.inf, 0.0]])
    assert p.conf[0] == 0.5 and p.scores(1)[0] == 0.0


def test_given_predictions_that_are_impossible():
    p = _ignoring(lambda: Profile.from_logits([0], [[0.0, -np.inf]], y_pred=[1]))
    assert p.conf[0] == 0.0 and p.error_prob[0] == 1.0


def _ignoring(build):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build()


def test_predictions_that_disagree_are_used_and_said():
    with pytest.warns(InputWarning, match="not the most probable class in 1 of 3 rows"):
        p = Profile.from_positive([1, 0, 1], [0.4, 0.2, 0.3], y_pred=[1, 0, 0])
    assert p.mean(p.correct) == pytest.approx(2 / 3) and p.conf.tolist() == [0.4, 0.8, 0.7] and p.error_prob.tolist()[0] == 0.6


def test_ties_go_to_the_first_class():
    assert Profile.from_positive([0, 1], [0.5, 0.5]).y_pred.tolist() == [0, 0]
    assert Profile.from_proba([0], [[0.4, 0.4, 0.2]]).y_pred.tolist() == [0]
    assert Profile.from_logits([0], [0.0]).y_pred.tolist() == [0]


def test_class_order_comes_from_the_columns():
    p = Profile.from_proba(["2"], [[0.1, 0.8, 0.1]], classes=["1", "2", "10"])
    assert p.correct[0] and p.conf[0] == 0.8
    q = Profile.from_proba(["yes", "no", "no"], [[0.2, 0.8], [0.9, 0.1], [0.7, 0.3]], classes=["no", "yes"])
    assert q.correct.all()
    named = Profile.from_proba(["b", "a"], pd.DataFrame({"b": [0.9, 0.2], "a": [0.1, 0.8]}))
    assert named.classes == ("b", "a") and named.correct.all()
    numbered = Profile.from_proba([2, 0], pd.DataFrame({"2": [0.9, 0.2], "0": [0.1, 0.8], "1": [0.0, 0.0]}))
    assert numbered.classes == (2, 0, 1) and numbered.correct.all()


def test_a_frame_whose_columns_are_numbers():
    p = Profile.from_proba([0, 1], pd.DataFrame([[0.2, 0.8], [0.4, 0.6]]))
    assert p.classes == (0, 1) and p.correct.tolist() == [False, True]
    assert Profile.from_proba([0, 1], pl.DataFrame([[0.2, 0.4], [0.8, 0.6]])).y_pred.tolist() == [1, 1]
    swapped = Profile.from_proba([0, 1], pd.DataFrame({1: [0.2, 0.8], 0: [0.8, 0.2]}))
    assert swapped.classes == (1, 0) and swapped.correct.all()


def test_a_class_without_a_row_is_still_a_class():
    p = Profile.from_proba([0, 0, 0], [[0.7, 0.3], [0.65, 0.35], [0.95, 0.05]])
    assert p.n_classes == 2 and p.correct.all()


def test_pos_label_and_two_columns():
    two = [[0.9, 0.1], [0.2, 0.8]]
    assert Profile.from_positive(["y", "n"], two, classes=["y", "n"]).classes == ("y", "n")
    p = Profile.from_positive(["y", "n"], two, classes=["y", "n"], pos_label="y")
    assert p.classes == ("n", "y") and p.correct.all() and p.conf.tolist() == [0.9, 0.8]


def test_minus_one_and_one():
    p = Profile.from_positive([-1, 1], [0.2, 0.8])
    assert p.classes == (-1, 1) and p.correct.all()


def test_event_against_the_rest():
    p = Profile.from_event(["a", "b", "c"], [0.1, 0.8, 0.2], pos_label="b")
    assert p.kind == "event" and p.correct.tolist() == [False, True, False] and p.conf.tolist() == [0.1, 0.8, 0.2]
    assert np.mean((p.conf - p.correct) ** 2) == pytest.approx(0.03)
    top = p.top_label()
    assert top.kind == "top_label" and top.correct.all() and top.conf.tolist() == [0.9, 0.8, 0.8] and top.error_prob.tolist()[0] == 0.1


def test_index_order():
    y, p = pd.Series({"a": 1, "b": 0}), pd.Series({"b": 0.9, "a": 0.6})
    with pytest.raises(InputError, match="same index in the same order, got 'b' beside 'a' at row 0"):
        Profile.from_positive(y, p)
    assert Profile.from_positive(y, p.loc[y.index]).n == 2
    split = pd.Series([1, 0, 1], index=[7, 2, 40])
    assert Profile.from_positive(split, [0.9, 0.1, 0.8]).correct.all()  # the other side has no index
    assert Profile.from_positive(split, pd.Series([0.9, 0.1, 0.8])).correct.all()  # nor has a default one a meaning
    with pytest.raises(InputError, match="same index"):
        Profile.from_positive(split, pd.Series([0.9, 0.1, 0.8], index=[7, 2, 41]))


def test_confidences_that_look_like_probabilities_of_the_positive_class():
    with pytest.warns(InputWarning, match="use from_positive or from_event"):
        Profile.from_confidence([0, 0, 0, 1], [0.1, 0.1, 0.2, 0.9])


def test_unknown_keywords_raise():
    with pytest.raises(TypeError):
        Profile.from_positive([0, 1], [0.1, 0.9], weights=[1, 1])


def test_subset_and_weighted_sums():
    p = Profile.from_positive([1, 0, 1], [0.9, 0.2, 0.4], sample_weight=[1, 2, 0])
    assert p.total == 3.0 and p.mean(p.correct) == 1.0 and p.sum([1.0, 1.0, np.nan]) == 3.0
    assert p.subset(np.array([True, False, True])).y_true.tolist() == [1, 1]


def test_to_array_does_not_touch_its_argument():
    frame = pd.DataFrame({"a": [0.25, 0.5], "b": [0.75, 0.5]})
    before = frame.copy()
    to_array(frame, "proba")
    pd.testing.assert_frame_equal(frame, before)
    with pytest.raises(InputTypeError):
        to_array(None, "y_true")


def test_masked_values_are_missing():
    with pytest.raises(InputError, match="`conf` must not have missing values, got a missing value at row 1"):
        Profile.from_confidence([1, 0], np.ma.array([0.9, 0.5], mask=[False, True]))
    with pytest.raises(InputError, match="got a missing label at row 1"):
        Profile.from_positive(np.ma.array([1, 0, 0], mask=[False, True, False]), [0.9, 0.5, 0.2])
    assert Profile.from_positive(np.ma.array([1, 0]), np.ma.array([0.9, 0.5])).correct.all()


@pytest.mark.parametrize("call, said", [
    (lambda: Profile.from_confidence(1, 0.5), "`correct` must hold one value a row, got a single value"),
    (lambda: Profile.from_confidence([1, 0], (x for x in (0.5, 0.6))), "`conf` must hold one value a row, got generator"),
    (lambda: Profile.from_confidence([1, 0], [10**400, 0.5]), "`conf` must hold numbers that a float can carry"),
    (lambda: Profile.from_positive([10**30, 0], [0.5, 0.5]), "`pos_label` must be given"),
    (lambda: Profile.from_positive(np.array(["2020-01-01", "2021-01-01"], "M8[D]"), [0.3, 0.6]), "got dates such as 2020-01-01; turn them into text"),
    (lambda: Profile.from_positive(["no", "yes"], [0.3, 0.6], pos_label="YES"), "`pos_label` must be one of the labels 'no', 'yes', got 'YES'"),
    (lambda: Profile.from_event(["a", "b", "c"], [0.3, 0.4, 0.6], pos_label="z"), "`pos_label` must be one of the labels 'a', 'b', 'c', got 'z'"),
    (lambda: Profile.from_positive([0, 1], [0.3, 0.6], pos_label=float("nan")), "`pos_label` must be a label, got nan"),
    (lambda: Profile.from_proba(["ant", "bee"], pd.DataFrame([[0.5, 0.5], [0.1, 0.9]], columns=["ant", "bee"]), classes=["bee", "ant"]), "must follow the order of the columns"),
    (lambda: Profile.from_proba(["a", "b"], pd.DataFrame([[0.5, 0.5], [0.1, 0.9]], columns=["a", "a"])), "columns of different names, got 'a' 2 times"),
    (lambda: Profile.from_confidence([1, 0], [0.5, 0.5], sample_weight=[1e200, 1]), "must be at most 1e15, got 1e\\+200 at row 0"),
    (lambda: Profile.from_confidence([1, 0], [0.5, 0.5], sample_weight=[1e-320, 0]), "no row would count"),
    (lambda: Profile.from_positive([1, 0], [90, 20]), "divide per cents by 100"),
    (lambda: Profile.from_positive([1, 0], [0.9, 0.2], drop_invalid_labels="no"), "`drop_invalid_labels` must be True or False, got 'no'"),
    (lambda: Profile.from_positive([1, 0], [0.3, 0.4]).scores(9), "`k` must be a class position from 0 to 1, got 9"),
    (lambda: Profile.from_confidence([1, 0], [0.7, 0.6]).scores(0), "needs a score for every class"),
    (lambda: Profile.from_confidence([1, 0], [0.7, 0.6]).subset([]), "must keep at least one row"),
    (lambda: Profile.from_confidence([1, 0], [0.7, 0.6]).subset([5]), "row positions below 2"),
])
def test_odd_arguments_are_refused_by_name(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_a_positive_label_written_as_text():
    p = Profile.from_positive([0, 1], [0.2, 0.7], pos_label="1")
    assert p.classes == (0, 1) and p.correct.all()
