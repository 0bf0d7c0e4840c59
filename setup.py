"""Everything about the package is said in settings.ini; this file only hands it to setuptools."""
import json
import shutil
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

here = Path(__file__).resolve().parent
cfg = ConfigParser(delimiters=["="], interpolation=None)
cfg.read(here / "settings.ini", encoding="utf-8")
cfg = cfg["DEFAULT"]


def requirements(key):
    return cfg[key].split()


class build_with_experiments(build_py):
    """The experiment notebooks (without outputs) and parameter files become package data of what is built; a checkout and an editable install read them in place."""

    def _experiments(self):
        target = Path(self.build_lib) / "cwcal" / "experiments"
        for source in sorted((here / "nbs" / "experiments").glob("*.ipynb")):
            yield source, target / source.name
        for source in sorted((here / "params").glob("*.yaml")):
            yield source, target / "params" / source.name

    def run(self):
        super().run()
        if self.editable_mode:
            return
        shutil.rmtree(Path(self.build_lib) / "cwcal" / "experiments", ignore_errors=True)
        for source, target in self._experiments():
            target.parent.mkdir(parents=True, exist_ok=True)
            text = source.read_text(encoding="utf-8")
            if source.suffix == ".ipynb":
                book = json.loads(text)
                for cell in book["cells"]:
                    if cell["cell_type"] == "code":
                        cell["outputs"], cell["execution_count"] = [], None
                text = json.dumps(book, ensure_ascii=False, indent=1) + "\n"
            target.write_text(text, encoding="utf-8")

    def get_outputs(self, include_bytecode=1):
        return [*super().get_outputs(include_bytecode), *([] if self.editable_mode else [str(target) for _, target in self._experiments()])]


lab, dev = requirements("lab_requirements"), requirements("dev_requirements")
setup(
    name=cfg["lib_name"],
    version=cfg["version"],
    description=cfg["description"],
    long_description=(here / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    keywords=cfg["keywords"],
    author=cfg["author"],
    author_email=cfg["author_email"],
    license="Apache-2.0",
    url=cfg["git_url"],
    python_requires=f">={cfg['min_python']}",
    packages=["cwcal", *sorted(f"cwcal.{p.parent.name}" for p in (here / "cwcal").glob("*/__init__.py"))],
    package_data={"cwcal.lab": ["paper/*.csv", "paper/README.md"]},
    install_requires=requirements("requirements"),
    extras_require={
        "demo": requirements("demo_requirements"),
        "lab": lab,
        "dev": lab + dev,
        "jupyter": requirements("jupyter_requirements"),
    },
    entry_points={"console_scripts": cfg["console_scripts"].split(), "nbdev": ["cwcal=cwcal._modidx:d"]},  # the second lets the docs link names to pages
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Science/Research",
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
    ],
    cmdclass={"build_py": build_with_experiments},
    zip_safe=False,
)
