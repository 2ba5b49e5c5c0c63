"""The collapse monitor: what the replies of a step look like, how far they are from the reference, and the alarm.

In multi-step tool use, reinforcement can amplify a few control tokens until the form of the output breaks
while the ability to reason is still there (arXiv 2606.26027). It shows as a divergence from the reference on just
those tokens before the reward falls.
"""
