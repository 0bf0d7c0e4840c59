"""Draw nbs/images/readme.png from the README's own example."""
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from cwcal import Profile, plot_csr_terms, plot_reliability

rng = np.random.default_rng(0)
error_prob = rng.uniform(0.02, 0.3, 2000)
wrong = rng.random(2000) < error_prob
bold = Profile.from_confidence(~wrong, error_prob=np.where(error_prob < 0.08, error_prob / 5, error_prob))

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", facecolor="white")
plot_reliability(bold, ax=axes[0])
axes[0].set_title("the bold model, bin by bin")
plot_csr_terms(bold, ax=axes[1])
axes[1].set_title("what its CSR is made of")
target = Path(__file__).resolve().parents[1] / "nbs" / "images" / "readme.png"
target.parent.mkdir(exist_ok=True)
figure.savefig(target, dpi=90, metadata={"Software": None})
