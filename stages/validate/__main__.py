"""`python -m stages.validate`: keep the conversations that hold, and make the dataset.

`python -m stages.validate export` writes the dataset in the formats of other trainers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from stages.artifacts import DATA, REPORTS, ArtifactError, read_table, replaced_directory, write_json, write_text
from stages.bootstrap.catalogue import SERVERS, TOOLS
from stages.conversations import CONVERSATIONS, from_row
from stages.discover.edges import CHAINS, EDGES
from stages.params import ParamsError, TeacherParams, ValidateParams
from stages.stage import StageContext, run_stage
from stages.validate import frames
from stages.validate.card import dataset_card
from stages.validate.expectations import check_contracts
from stages.validate.export import export
from stages.validate.outside import outside_conversations
from stages.validate.overlap import Decontaminator
from stages.validate.questions import Questions, questions_at_hand
from stages.validate.summary import summarise
from stages.validate.tables import Tables, make_tables
from stages.validate.verdicts import Verdicts, judge


def main(ctx: StageContext[ValidateParams]) -> Sequence[Path]:
    """Check every conversation, split the accepted ones, and write rows, provenance, rejections, docs and card."""
    for name in ctx.params.held_out_servers:
        if name not in ctx.catalog.servers:
            known = ", ".join(ctx.catalog.servers)
            raise ParamsError(f"validate.held_out_servers: unknown server {name!r}; there are {known}")
    source = DATA / "conversations" / "conversations.parquet"
    written = [from_row(row) for row in read_table(source, CONVERSATIONS, ctx.catalog.fingerprint)]
    outside = [c for wanted in ctx.params.abstention_sets for c in outside_conversations(ctx.catalog, wanted, ctx.seed)]
    questions = questions_at_hand(ctx.params.decontaminate)
    overlap = Decontaminator(questions, ctx.params.decontaminate.ngram)
    verdicts = judge(ctx, [*outside, *written], overlap)
    if not verdicts.accepted:
        reasons = ", ".join(f"{r.reason} ({c.id}: {r.detail})" for c, r in verdicts.rejected[:3])
        raise ArtifactError(f"none of {len(written)} conversations in {source} is valid: {reasons}")
    return write(ctx, verdicts, overlap, questions)


def write(
    ctx: StageContext[ValidateParams], verdicts: Verdicts, overlap: Decontaminator, questions: Sequence[Questions]
) -> Sequence[Path]:
    """Write the contracts' results, and the dataset with its metrics if they hold."""
    tables = make_tables(ctx.catalog, verdicts, ctx.params, ctx.seed)
    contract, page = check_contracts(
        {**upstream_frames(ctx.catalog.fingerprint), **dataset_frames(verdicts, tables)},
    )
    write_json(REPORTS / "expectations" / "expectations.json", contract)
    write_text(REPORTS / "expectations" / "index.html", page)
    for suite in contract["suites"]:
        for expectation in suite["expectations"]:
            if not expectation["success"]:
                raise ArtifactError(f"{suite['suite']}: contract broken: {expectation}; see reports/expectations/")
    metrics = summarise(ctx, verdicts, tables, questions)
    metrics |= {"decontamination": overlap.report(), "contract_holds": bool(contract["success"])}
    teacher = ctx.block(TeacherParams, "teacher").model
    with replaced_directory(DATA / "dataset") as target:
        tables.write(target, ctx.stamp)
        write_text(target / "README.md", dataset_card(metrics, ctx.stamp.fingerprint, teacher, ctx.seed))
    write_json(REPORTS / "metrics" / "validate.json", metrics)
    ctx.log_metrics({k: v for k, v in metrics.items() if isinstance(v, int | float)})
    return [DATA / "dataset", REPORTS / "expectations", REPORTS / "metrics" / "validate.json"]


def upstream_frames(fingerprint: str) -> Mapping[str, pl.DataFrame]:
    """The catalogue's and the graph's tables, whose contracts are checked here too."""
    servers = read_table(DATA / "catalog" / "servers.parquet", SERVERS, fingerprint)
    tools = read_table(DATA / "catalog" / "tools.parquet", TOOLS, fingerprint)
    owner = {row["name"]: row["server"] for row in tools}
    return {
        "servers": frames.server_frame(servers),
        "tools": frames.tool_frame(tools, {row["server"] for row in servers}),
        "edges": frames.edge_frame(read_table(DATA / "graph" / "edges.parquet", EDGES, fingerprint), owner),
        "chains": frames.chain_frame(read_table(DATA / "graph" / "chains.parquet", CHAINS, fingerprint), owner),
    }


def dataset_frames(verdicts: Verdicts, tables: Tables) -> Mapping[str, pl.DataFrame]:
    """What this stage makes."""
    trained = {name for name, split in tables.splits.items() if split == "train"}
    return {
        "conversations": frames.conversation_frame(verdicts.conversations),
        "rl_rows": frames.rl_frame(tables.rows, tables.leaked),
        "sft_rows": frames.sft_frame(tables.imitated, trained),
        "rejected": frames.rejected_frame(tables.refused, tables.splits.keys()),
        "provenance": frames.provenance_frame(tables.origins),
    }


if __name__ == "__main__":
    run_stage("validate", ValidateParams, main, {"export": export})
