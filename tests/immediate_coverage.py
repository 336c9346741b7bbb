"""A pytest plugin: each probe of the coverage is removed once it is hit.

For `pytest -p tests.immediate_coverage`. The option `--immediate` of slipcover does so
in the process that starts the workers, but not in them.
"""

from functools import partial

import slipcover

slipcover.Slipcover = partial(slipcover.Slipcover, immediate=True)
