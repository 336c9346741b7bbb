"""Each guard of `tests/mutations` names a test that exists."""

import re

import pytest

from tests.architecture.syntax_trees import ROOT
from tests.mutations.guards import GUARDS

pytestmark = pytest.mark.engine_independent
TESTS = sorted({guard.test.partition("[")[0] for guard in GUARDS})


@pytest.mark.parametrize("test", TESTS)
def test_the_test_of_a_guard_exists(test):
    path, _, name = test.partition("::")

    source = (ROOT / path).read_text()

    assert re.search(rf"^def {name}\(" if name else "^def test_", source, re.MULTILINE)
