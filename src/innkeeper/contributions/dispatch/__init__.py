"""Registration, order and running of contributions (K3, K4, K5, K8, K9)."""

from innkeeper.contributions.dispatch.dispatcher import Dispatcher
from innkeeper.contributions.dispatch.registry import Registration, Registry
from innkeeper.contributions.dispatch.services import Services

__all__ = ["Dispatcher", "Registration", "Registry", "Services"]
