"""Functions of the public package causal_conv1d, with its names, order of arguments, defaults and returns.

tilescan.patch() puts this package in the place of causal_conv1d. docs/python_migration.md has what is
kept of the public implementation's behaviour and what is mended.
"""

from tilescan.causal_conv1d.causal_conv1d_interface import causal_conv1d_fn, causal_conv1d_update

__all__ = ["causal_conv1d_fn", "causal_conv1d_update"]
