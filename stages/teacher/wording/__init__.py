"""How the scripted teacher puts things into words: requests, questions, replies and closing answers.

It says nothing that isn't in its script or in the results that it was shown.
"""

from stages.teacher.wording.answers import answer, reports
from stages.teacher.wording.registers import PERSONAS, liking
from stages.teacher.wording.replies import details, missing_tool, offer, question
from stages.teacher.wording.requests import request

__all__ = ["PERSONAS", "answer", "details", "liking", "missing_tool", "offer", "question", "reports", "request"]
