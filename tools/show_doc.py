"""How a function is shown on the docs site: signature, docstring, and the table of parameters that nbdev has left out since 2.4.7."""
import inspect
import re

from nbdev.showdoc import BasicMarkdownRenderer

SIGNATURE = re.compile(r"```python\n.*?\n```", re.S)


def _code(text):
    return f"`{text}`".replace("|", r"\|") if text else ""


def _annotation(a):
    if a is inspect.Parameter.empty:
        return ""
    text = a if isinstance(a, str) else a.__name__ if inspect.isclass(a) else inspect.formatannotation(a)
    return re.sub(r"(\w+\.)+(?=\w)", "", text)


class ParameterTable(BasicMarkdownRenderer):
    "nbdev's Markdown for `show_doc`, with comments moved from the signature to a table, and a line per docstring line that opens with `Word:`."

    def table(self):
        "The parameters with their docments, or nothing when there are none."
        documented = {name: p for name, p in self.dm.dm.items() if name != "self"}
        if self.sig is None or not any(p.get("docment") for p in documented.values()):
            return ""
        rows = ["| parameter | type | default | meaning |", "|---|---|---|---|"]
        for name, p in documented.items():
            anno = self.sig.return_annotation if name == "return" else self.sig.parameters[name].annotation if name in self.sig.parameters else inspect.Parameter.empty
            default = self.sig.parameters[name].default if name in self.sig.parameters else inspect.Parameter.empty
            shown = "" if default is inspect.Parameter.empty or "factory" in repr(default) else repr(default)
            text = " ".join((p.get("docment") or "").split()).replace("|", r"\|")
            if name != "return" or text:
                rows.append(f"| {'**returns**' if name == 'return' else _code(name)} | {_code(_annotation(anno))} | {_code(shown)} | {text} |")
        return "\n".join(rows)

    def _repr_markdown_(self):
        text, table = super()._repr_markdown_(), self.table()
        text = re.sub(r"(?<=\S)\n(?=[A-Z][a-z]+: )", "  \n", text)
        if not table:
            return text
        plain = SIGNATURE.search(text)
        short = f"```python\n{self.short()}\n```"
        return text[:plain.start()] + short + text[plain.end():] + f"\n\n{table}"

    def short(self):
        "The signature without comments and annotations."
        kept = [p.replace(annotation=inspect.Parameter.empty) for p in self.sig.parameters.values()]
        return f"{self.nm}{inspect.Signature(kept)}"
