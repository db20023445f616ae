"""Puts tilescan where other programs look for operators, and takes it back."""

import importlib
import pkgutil
import sys
import types
import typing
import warnings

# Packages of tilescan, by the name under which programs look for them.
_PACKAGES = ("mamba_ssm", "causal_conv1d")
# What transformers' code for a model has where it looks operators up there.
_OPERATORS = ("selective_state_update", "causal_conv1d_fn")
_replaced: dict[str, types.ModuleType] = {}
_placed: set[str] = set()


def patch() -> None:
    """Puts tilescan's operators where other programs look for them, in this process, until unpatch().

    `import mamba_ssm` gives tilescan.mamba_ssm, and `import causal_conv1d` tilescan.causal_conv1d. A
    public package that was imported before stays with those who hold it, and is back after unpatch().
    On CPUs the Mamba-2 layers of transformers run by tilescan, whenever they were imported; on GPUs
    transformers looks operators up when it imports a model's code, so call this before. A layer with
    another forward than is known gets a RuntimeWarning and runs as it is. Can be called again.
    """
    if _placed:
        return
    from tilescan import _transformers  # needs torch, and tilescan.mamba_ssm does too

    _warn_of_transformers(_transformers.is_replaced_in)
    try:
        for package in _PACKAGES:
            for name in [name for name in sys.modules if _is_in(name, package)]:
                _replaced[name] = sys.modules.pop(name)
            for name, module in _modules_of(package):
                sys.modules[name] = module
                _placed.add(name)
        _transformers.replace_forwards()
    except BaseException:
        unpatch()
        raise


def unpatch() -> None:
    """Takes back what patch() did. Code that looked operators up meanwhile keeps them."""
    if not _placed and not _replaced:
        return
    from tilescan import _transformers

    _transformers.restore_forwards()
    for name in _placed:
        sys.modules.pop(name, None)
    sys.modules.update(_replaced)
    _placed.clear()
    _replaced.clear()


def _is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _modules_of(package: str) -> list[tuple[str, types.ModuleType]]:
    root = importlib.import_module(f"tilescan.{package}")
    names = [root.__name__]
    names += [found.name for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")]
    return [(name.removeprefix("tilescan."), importlib.import_module(name)) for name in names]


def _warn_of_transformers(is_replaced_in: typing.Callable[[str], bool]) -> None:
    has_gpu = importlib.import_module("torch").cuda.is_available()
    imported = [name for name, module in sys.modules.items()
                if name.startswith("transformers.models.") and ".modeling_" in name
                and any(operator in attribute for attribute in vars(module)
                        for operator in _OPERATORS)
                and (has_gpu or not is_replaced_in(name))]
    if imported:
        warnings.warn(f"tilescan.patch() has no effect{' on GPUs' if has_gpu else ''} for what is "
                      f"imported already: {', '.join(sorted(imported))}", RuntimeWarning, stacklevel=3)
