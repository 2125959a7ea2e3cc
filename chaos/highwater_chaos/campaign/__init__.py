"""Campaigns: many seeds of one experiment, or of experiments that seeds draw.

1. :mod:`draw` makes the experiment of a seed; :mod:`plan` decides which seeds run, and in which order.
2. :mod:`seed` runs and judges one; :mod:`processes` and :mod:`on_spark` run many, also if some hang or crash.
3. :mod:`store` keeps the outcomes, so that a campaign whose driver was killed can be resumed.
4. :mod:`rows` counts, :mod:`page` shows, :mod:`examples` writes failing seeds as run directories and shrinks them.
5. :mod:`definition` says what of all this a campaign may do in another way.
"""
