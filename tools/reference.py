"""Reference pages and schemas from the models: ``make reference``, ``tools.reference --write``.

A page says in its own words what a file is for. Between ``<!-- reference:NAME -->`` and
``<!-- reference:end -->`` stands what the models and the code say, and nobody writes it by hand.
Without ``--write`` the pages are compared; one that differs is exit status 1.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import typer.main
from pydantic import BaseModel

from isr_pipeline import cli
from isr_pipeline.base.files.models import allowed_of
from isr_pipeline.base.files.words import shown
from isr_pipeline.clusters import believed
from isr_pipeline.conformance.sources import citations
from isr_pipeline.experiment import file as experiment_file
from isr_pipeline.experiment.keys import entries, unit_of
from isr_pipeline.experiment.not_modelled import not_modelled
from isr_pipeline.experiment.stages import Budget
from isr_pipeline.kafka import releases
from isr_pipeline.kafka.broker_config import BOUNDS
from isr_pipeline.kafka.fixes import DEFECTS, FIXES, Fix
from isr_pipeline.kafka.own_rules import CHANGEABLE, allowed_for, word_in
from isr_pipeline.kafka.releases import RELEASES, RULE_SETS, ReleaseRules, RuleSet
from isr_pipeline.scenarios import cluster_file
from isr_pipeline.scenarios.hardware import Hardware
from isr_pipeline.scenarios.incidents import Incident
from isr_pipeline.scenarios.patterns import PARAMETERS, PATTERNS
from isr_pipeline.scenarios.profile import Distribution, FaultProfile, Stratum
from isr_pipeline.scenarios.racks import RackRoundTrip
from isr_pipeline.scenarios.rule_set_files import RuleSetFile
from isr_pipeline.tables.validation.data_docs import SUITES
from isr_pipeline.tables.validation.reasons import REASONS
from isr_pipeline.tables.validation.run import load_suite
from tools import cases, limits, schemas
from tools.anchors import anchor
from tools.floors import BESIDE_THE_PACKAGE, FLOORS

DOCS = Path(__file__).resolve().parent.parent / "docs"

BLOCK = re.compile(
    r"(<!-- reference:(?P<name>[a-z-]+) -->\n)(?P<body>.*?)(<!-- reference:end -->)", re.S
)

Model = type[BaseModel]

EXPERIMENT: tuple[tuple[str, Model], ...] = (
    ("the file", experiment_file.ExperimentFile),
    ("panels", experiment_file.Panels),
    ("budget", Budget),
    ("group", experiment_file.Group),
    ("candidate", experiment_file.Candidate),
    ("grid", experiment_file.Grid),
    ("axis", experiment_file.Axis),
)
PROFILE: tuple[tuple[str, Model], ...] = (
    ("the file", FaultProfile),
    ("incident", Incident),
    ("stratum", Stratum),
    ("distribution", Distribution),
)
RULE_SET: tuple[tuple[str, Model], ...] = (("the file", RuleSetFile),)
CLUSTER: tuple[tuple[str, Model], ...] = (
    ("the file", cluster_file.ClusterFile),
    ("broker", cluster_file.BrokerEntry),
    ("topic", cluster_file.TopicEntry),
    ("stream", cluster_file.StreamEntry),
    ("partition", cluster_file.PartitionEntry),
    ("round trip", RackRoundTrip),
    ("hardware", Hardware),
    ("assumed", cluster_file.Assumed),
)
"""Of each page the models, with what a part of the file is called."""

KIND_OF = {
    model: name for models in (EXPERIMENT, PROFILE, RULE_SET, CLUSTER) for name, model in models
}
TOLD_ELSEWHERE = {allowed_of(experiment_file.Group, "name"): "[a name](experiment-file.md#names)"}
"""What is allowed, where a section says it for many fields -> a link to that section."""

_WORDS = {bool: "boolean", int: "whole number", float: "number", str: "text", dict: "mapping"}


# ---------------------------------------------------------------------------- fields of models


def fields(models: Sequence[tuple[str, Model]]) -> str:
    """One list for each model: a field's name, what is allowed or of which type, its meaning."""
    said = [RANGES]
    for name, model in models:
        said.append(f"### {_heading(name)}\n")
        lines = []
        for attribute, field in model.model_fields.items():
            written = field.alias or attribute
            if not field.description:
                raise SystemExit(f"{model.__name__}.{attribute} has no description")
            default = "required" if field.is_required() else _default(field.get_default())
            kind = kind_of(field.annotation)
            allowed = allowed_of(model, written)
            allowed = "" if allowed in ("a mapping", "a list", "a text", "true, false") else allowed
            allowed = TOLD_ELSEWHERE.get(allowed, allowed)
            if not allowed or ("](#" in kind and " or " not in kind):
                allowed = kind
            facts = (shortened(allowed, unit_of(written)), default)
            lines.append(entry(written, facts, field.description))
        said.append("".join(lines))
    return "\n".join(said)


def entry(name: str, facts: Iterable[str], meaning: str) -> str:
    """An item of a list: a name, facts in parentheses, a meaning."""
    known = "; ".join(filter(None, facts))
    return f"* `{name}`{f' ({known})' if known else ''}: {meaning}\n"


RANGES = """\
What is not required and has no default may be absent. Ranges `a..b` are of whole numbers, and times
are below 2^50 microseconds.
"""


def shortened(allowed: str, unit: str) -> str:
    """What is allowed, without what `RANGES` says, and its unit where it does not name it."""
    named = re.search(r"(milli|micro)seconds|bytes a second|\(#|records_per_s|^a list", allowed)
    allowed = re.sub(r"^a whole number (?=\d)|,? ?\(below 2\^50(?: microseconds)?\)", "", allowed)
    return allowed if named or not unit else f"{allowed} {unit}"


def _heading(name: str) -> str:
    return name[:1].upper() + name[1:]


def _default(value: Any) -> str:
    if value in (None, (), {}, "") or isinstance(value, BaseModel):
        return ""
    return f"default `{shown(value)}`"


def kind_of(annotation: Any) -> str:
    """What a field holds, in a word; another table's part links to it."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "word"
    if origin in (Union, types.UnionType):
        kinds = [kind_of(one) for one in inside if one is not type(None)]
        return " or ".join(dict.fromkeys(kinds))
    if origin is tuple:
        ours = [one for one in inside if one is not Ellipsis and _is_model(one)]
        return f"list of {_link(ours[0])}" if ours else "list"
    if origin is dict:
        ours = [one for one in inside if _is_model(one)]
        return f"mapping to {_link(ours[0])}" if ours else "mapping"
    if _is_model(annotation):
        return _link(annotation)
    return _WORDS.get(annotation, "any")


def _is_model(one: Any) -> bool:
    return isinstance(one, type) and issubclass(one, BaseModel)


def _link(model: Model) -> str:
    name = KIND_OF[model]
    return f"[{name}](#{anchor(name)})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns in which nothing stands are left out."""
    body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    used = [i for i in range(len(head)) if any(row[i] for row in body)]
    lines = [
        [head[i] for i in used],
        *([row[i] for i in used] for row in body),
    ]
    first, *others = [f"| {' | '.join(line)} |\n" for line in lines]
    return "".join((first, f"|{'---|' * len(used)}\n", *others))


# ---------------------------------------------------------------------------- other tables


def patterns() -> str:
    """Every pattern of a fault profile, and the parameters that it draws."""
    return "".join(
        entry(name, (", ".join(f"`{p}`" for p in one.parameters),), one.meaning)
        for name, one in PATTERNS.items()
    )


def parameters() -> str:
    """Which values may be drawn, and of which parameters."""
    drawn: dict[tuple[str, str], list[str]] = {}
    for name, check in sorted(PARAMETERS.items()):
        drawn.setdefault((check.allowed, unit_of(name)), []).append(name)
    return "".join(
        f"* {_names(names)}: {shortened(allowed, unit)}\n"
        for (allowed, unit), names in drawn.items()
    )


def _names(names: Sequence[str]) -> str:
    """Parameters one by one, or the ending that they have and no other parameter has."""
    ending = "_" + names[0].rpartition("_")[2]
    if len(names) > 3 and [one for one in sorted(PARAMETERS) if one.endswith(ending)] == names:
        return f"all that end in `{ending}`"
    return ", ".join(f"`{one}`" for one in names)


def switches() -> str:
    """Every switch of a rule set: meaning, what is allowed, and what each release has."""
    meanings = _meanings(ReleaseRules.__doc__ or "") | _meanings(RuleSet.__doc__ or "")
    lines = []
    for name in CHANGEABLE:
        allowed = allowed_for(name)
        if allowed == "true, false":
            on = [one for one in RELEASES if word_in(RULE_SETS[one], name) == "true"]
            others = f"all but {_range([one for one in RELEASES if one not in on])}"
            has = min(_range(on), others, key=lambda text: len(text.split()))
            facts = [has]
        else:
            history = _history(name)
            is_whole = all(f"`{word}`" in history for word in allowed.split(", "))
            facts = ["" if is_whole else allowed, history]
        lines.append(entry(name, facts, meanings[name]))
    return "".join(lines)


def _meanings(docstring: str) -> dict[str, str]:
    """The lines of a docstring's section ``Attributes``."""
    section = docstring.partition("Attributes:")[2]
    found = re.findall(r"^ {8}(\w+): ((?:.|\n {12})+)", section, re.M)
    return {name: _sentence(" ".join(text.split())) for name, text in found}


def _sentence(text: str) -> str:
    first = text.partition(" ")[0]
    return text if "." in first else text[:1].upper() + text[1:]


def _history(switch: str) -> str:
    """A switch's values over the releases: ``false; true from 2.7-3.2``."""
    said: list[str] = []
    last: str | None = None
    for name in RELEASES:
        word = word_in(RULE_SETS[name], switch)
        if word != last:
            said.append(f"`{word}`" if last is None else f"`{word}` from {name}")
            last = word
    return "; ".join(said) if switch != "key_defaults" else "its own"


def rule_sets() -> str:
    """Every rule set: the release it stands for, and the sources above it in the code."""
    cited: dict[str, list[str]] = {}
    for one in citations(("kafka",)):
        cited.setdefault(one.rule, []).append(one.text)
    names = {id(one): name for name, one in vars(releases).items() if isinstance(one, RuleSet)}
    rows = [
        (f"`{one.name}`", one.release, "; ".join(cited[names[id(one)]]))
        for one in RULE_SETS.values()
    ]
    return table(("name", "stands for", "sources"), rows)


ALL = "all"


def _range(releases: Sequence[str], before_a_list: str = "") -> str:
    """Rule sets in a few words, such as ``up to 2.1-2.6``; empty if there are none."""
    if tuple(releases) == RELEASES:
        return ALL
    if len(releases) > 1 and tuple(releases) == RELEASES[: len(releases)]:
        return f"up to {releases[-1]}"
    if len(releases) > 1 and tuple(releases) == RELEASES[RELEASES.index(releases[0]) :]:
        return f"from {releases[0]}"
    return before_a_list + ", ".join(releases)


def keys() -> str:
    """What `isr-pipeline keys` lists."""
    said = [RANGES]
    for group, heading in (
        ("kafka", "Kafka's keys"),
        ("cluster", "The cluster"),
        ("rules", "Switches of the rules"),
        ("service", "Service times"),
        ("produce", "A topic's load"),
    ):
        lines = []
        for one in entries():
            if one.group != group:
                continue
            required = one.default is None and group == "cluster"
            default = "required" if required else _default(one.default)
            others: dict[str, list[str]] = {}
            for release, value in one.defaults.items():
                others.setdefault(shown(value), []).append(release)
            default += "".join(f", `{v}` {_range(names, 'in ')}" for v, names in others.items())
            has = _range(one.rule_sets) or "a proposal"
            read = _range(one.read_by)
            read = f"read {read}" if read else "not read"
            facts = [shortened(one.allowed, one.unit), default, "" if has == ALL else has]
            facts += [] if read in (f"read {ALL}", f"read {has}") else [read]
            lines.append(entry(one.name, facts, one.meaning))
        said.append(f"### {heading}\n\n{''.join(lines)}")
    return "\n".join(said)


def bounds() -> str:
    """What brokers compare at their start."""
    rows = [(f"`{one.low}`", f"`{one.high}`", one.releases) for one in BOUNDS]
    return table(("at most", "the value of", "brokers"), rows)


def commands() -> str:
    """Every command, under the headings of `isr-pipeline --help`."""
    root: Any = typer.main.get_command(cli.app)
    said = []
    for heading in (cli.RUN, cli.ASK, cli.TRY, cli.KAFKA, cli.HERE):
        rows = []
        for name in root.list_commands(None):
            one = root.commands[name]
            if one.rich_help_panel != heading:
                continue
            inner = getattr(one, "commands", None) or {"": one}
            for part, command in inner.items():
                words = " ".join(["isr-pipeline", name, part]).strip()
                rows.append(f"* `{words}`: {str(command.help).splitlines()[0]}\n")
        said.append(f"### {heading}\n\n{''.join(rows)}")
    return "\n".join(said)


def floors() -> str:
    """Every floor with its folders, the highest first."""
    rows = []
    for number, floor in reversed(list(enumerate(FLOORS, 1))):
        said = []
        for folder in floor:
            inside = "" if folder.name in BESIDE_THE_PACKAGE else "isr_pipeline/"
            file = ".py" if folder.name == "cli" else "/"
            said.append(f"`{inside}{folder.name}{file}`: {folder.holds}")
        rows.append((str(number), "; ".join(said)))
    return table(("floor", "folders"), rows)


def not_modelled_rows() -> str:
    """What is left out, and what that could hide."""
    rows = [(one.left_out, one.hides) for one in not_modelled()]
    return table(("left out", "what that could hide"), rows)


def fixes() -> str:
    """Every change of Kafka's that the rules know, by the release numbers that have it."""
    rows: dict[str, list[str]] = {}
    for one in FIXES:
        what = f"{one.what[:-1]}, " if one.what.endswith(")") else f"{one.what} ("
        rows.setdefault(_since(one), []).append(f"{what}{_source(one.source)})")
    return table(("from", "what is so from then on"), [(k, "; ".join(v)) for k, v in rows.items()])


def _since(one: Fix) -> str:
    *lines, everywhere = one.since
    return ", ".join((*(f"{number} in its line" for number in lines), everywhere))


def _source(source: str) -> str:
    """A pull request is Kafka's; any other source is named as it is."""
    return f"apache/kafka{source}" if source.startswith("#") else source


def defects() -> str:
    """What single releases do wrong that no rule has."""
    rows = [(f"{one.first}, {one.mended}", f"{one.what} ({one.source})") for one in DEFECTS]
    return table(("from, mended in", "what goes wrong"), rows)


def believed_first() -> str:
    """Whom an import believes, and who goes before that order for what."""
    ranks = "\n".join(f"{i}. {name}" for i, name in enumerate(believed.RANKS.values(), 1))
    first = "\n".join(f"* {row.what}: {row.first}" for row in believed.TABLE if row.first)
    return f"{ranks}\n\nBefore that order goes, of\n\n{first}\n"


def checks() -> str:
    """Every reason with its severity, and by suite every expectation with its reason."""
    reasons = [(f"`{name}`", one.severity, one.means) for name, one in REASONS.items()]
    said = [table(("why", "severity", "means"), reasons)]
    for suite in SUITES:
        lines, never_null = [], []
        for one in load_suite(suite):
            name, why = one["meta"]["name"], one["meta"]["why"]
            if one["severity"] != REASONS[why].severity:
                raise SystemExit(f"{suite}.{name}: {one['severity']}, though {why} is not")
            if one["description"] == f"{name.removesuffix('_null')} is never null.":
                never_null.append(f"`{name}`")
            else:
                lines.append(entry(name, (why,), one["description"]))
        if never_null:
            lines.append(f"* {', '.join(never_null)} (incomplete): The column is never null.\n")
        said.append(f"### {_heading(suite)}\n\n{''.join(lines)}")
    return "\n".join(said)


def memory() -> str:
    """Limits of the containers' memory, in a line."""
    said = "; ".join(f"{service} {limit}" for service, limit in limits.of_containers())
    return f"Limits of memory: {said}.\n"


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "architecture.md": {"floors": floors},
    "checks.md": {"checks": checks},
    "experiment-file.md": {"fields": lambda: fields(EXPERIMENT)},
    "fault-profile.md": {
        "fields": lambda: fields(PROFILE),
        "patterns": patterns,
        "parameters": parameters,
    },
    "own-proposal.md": {"fields": lambda: fields(RULE_SET), "switches": switches},
    "cluster-file.md": {"fields": lambda: fields(CLUSTER)},
    "keys.md": {"bounds": bounds, "keys": keys},
    "command-line.md": {"commands": commands},
    "trust.md": {"cases": cases.counted},
    "model.md": {"fixes": fixes, "defects": defects, "not-modelled": not_modelled_rows},
    "your-cluster.md": {"believed": believed_first},
    "deploy.md": {"memory": memory},
    "project/conformance.md": {
        "measure": lambda: table(("what", "limit"), limits.of_agreement()),
        "cases": lambda: table(("case", "what", "why"), cases.apart()),
    },
    "project/model-rules.md": {
        "rule-sets": rule_sets,
        "limits": lambda: table(("what", "at most"), limits.of_a_world()),
    },
}
"""Page -> its parts, in any order."""


# ---------------------------------------------------------------------------- pages


def rewritten(page: str, text: str) -> str:
    """A page with every part as the models have it today.

    Raises:
        SystemExit: a part is missing in the page, or has no maker.
    """
    parts = PARTS[page]
    found = [match["name"] for match in BLOCK.finditer(text)]
    if sorted(found) != sorted(parts):
        raise SystemExit(f"{page}: has the parts {found}, allowed: {sorted(parts)}, each once")
    return BLOCK.sub(lambda m: f"{m[1]}\n{parts[m['name']]()}\n{m[4]}", text)


def differing() -> list[str]:
    """Pages whose parts are not what the models say."""
    return [name for name in PARTS if rewritten(name, read(name)) != read(name)]


def read(page: str) -> str:
    """A page's text."""
    return (DOCS / page).read_text(encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Compare, or write."""
    if arguments not in ([], ["--write"]):
        sys.stderr.write("usage: python -m tools.reference [--write]\n")
        return 2
    changed = differing()
    for page in changed if arguments else ():
        (DOCS / page).write_text(rewritten(page, read(page)), encoding="utf-8")
        sys.stdout.write(f"wrote docs/{page}\n")
    old = schemas.differing()
    for folder in old if arguments else ():
        schemas.write(folder)
        sys.stdout.write(f"wrote config/schemas/{folder}.json\n")
    if (changed or old) and not arguments:
        which = ", ".join((*changed, *(f"the schema of {one}" for one in old)))
        sys.stderr.write(f"not as the models have it: {which}; run: make reference\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
