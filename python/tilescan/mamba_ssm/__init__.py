"""Operators of the public package mamba_ssm, with its names, order of arguments, defaults and returns.

tilescan.patch() puts this package in the place of mamba_ssm. docs/python_migration.md has what is kept
of the public implementation's behaviour and what is mended.
"""

from tilescan.mamba_ssm import ops

__all__ = ["ops"]
