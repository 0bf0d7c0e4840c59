"""Everything about the package is said in settings.ini; this file only hands it to setuptools."""
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

here = Path(__file__).parent
cfg = ConfigParser(delimiters=["="], interpolation=None)
cfg.read(here / "settings.ini", encoding="utf-8")
cfg = cfg["DEFAULT"]


def requirements(key):
    return cfg[key].split()


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
    zip_safe=False,
)
