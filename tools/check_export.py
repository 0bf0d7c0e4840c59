"""Export the notebooks and fail when the exported modules change: the notebook is the source."""
import hashlib
import subprocess
import sys
from pathlib import Path

package = Path(__file__).resolve().parents[1] / "cwcal"


def state():
    "Digest of every module."
    return {f.relative_to(package): hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(package.rglob("*.py"))}


before = state()
subprocess.run([Path(sys.executable).with_name("nbdev_export")], check=True, cwd=package.parent)
changed = sorted({name for name, _ in before.items() ^ state().items()})
if changed:
    sys.exit(f"exporting the notebooks changed {', '.join(map(str, changed))}: edit the notebooks, run nbdev_export and commit both")
print(f"export: {len(before)} modules agree with their notebooks")
