"""Published speed: each figure of docs/speed.md is measured here, against a reference in the same run.

figures.py, history.py     what a figure is; all runs, and the last value of each figure
timing.py                  loads in turn, medians with quartiles, the exponent of growth
machine.py                 what a figure was measured on
families.py                the families, and how each is measured
material.py                the conversations that several families work on
sessions.py … dvc_noop.py    one family of figures each
bank.py, echo.py           calls that figures share, the reference server of the MCP figures
page.py, chart.py          reports/bench.html
"""
