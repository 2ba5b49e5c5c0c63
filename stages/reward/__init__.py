"""The dense reward of a tool-using episode: one file per component, pure functions.

`combine.score` weighs them. Formulas and defaults: PROVE, arXiv 2606.03892v2, section on reward.
Nothing here runs a tool or a model, so stored episodes can be scored again at any time.
"""
