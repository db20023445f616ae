"""Puts the drop-in packages where other programs import them from, and takes them back."""

import importlib
import pkgutil
import sys
import types
import warnings

# Packages of tilescan, by the name under which programs look for them.
_PACKAGES = ("mamba_ssm",)
_replaced: dict[str, types.ModuleType] = {}
_placed: set[str] = set()


def patch() -> None:
    """Makes `import mamba_ssm` give tilescan.mamba_ssm, in this process, until unpatch().

    transformers looks operators up when it imports a model's code, so call this before. It falls back
    to its own PyTorch code for operators that are not there. A public mamba_ssm that was imported
    before stays with those who hold it, and is back after unpatch(). Can be called again.
    """
    if _placed:
        return
    _warn_of_transformers()
    modules = {package: _modules_of(package) for package in _PACKAGES}  # fails before anything is done
    for package in _PACKAGES:
        for name in [name for name in sys.modules if _is_in(name, package)]:
            _replaced[name] = sys.modules.pop(name)
        for name, module in modules[package]:
            sys.modules[name] = module
            _placed.add(name)


def unpatch() -> None:
    """Takes back what patch() did to imports. Code that looked operators up meanwhile keeps them."""
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


def _warn_of_transformers() -> None:
    imported = [name for name, module in sys.modules.items()
                if name.startswith("transformers.models.") and ".modeling_" in name
                and any("selective_state_update" in attribute for attribute in vars(module))]
    if imported:
        warnings.warn(f"tilescan.patch() has no effect on what is imported already: "
                      f"{', '.join(sorted(imported))}", RuntimeWarning, stacklevel=3)
