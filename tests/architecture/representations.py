"""All declarations of answers."""

import importlib

from affiliate_site.api.representations.base import Representation
from tests.architecture.syntax_trees import ROOT

FOLDERS = ("affiliate_site/api/representations", "affiliate_site/api/resources")


def list_representations():
    """Return the subclasses of `Representation` in the code of the API."""
    modules = [
        importlib.import_module(f"{folder.replace('/', '.')}.{path.stem}")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).glob("*.py"))
    ]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Representation)
        and value is not Representation
        and value.__module__ == module.__name__
    ]
