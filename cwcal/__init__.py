"""Can a classifier's confidences be trusted? Build a `Profile`, then ask it."""

__version__ = "0.1.0"

from cwcal.inputs import InputError, InputTypeError, InputWarning, PrecisionWarning, UndefinedMetricWarning
from cwcal.metrics.csr import (
    CSRSummary, csr, csr_lower_bound, csr_sigma, csr_summary, csr_zscore, ece_blind_profile, flat_profile, oracle_profile, risk_probability,
)
from cwcal.profile import Profile
