"""Customizations of the sessions of a host: found, resolved, published, changed, handed over (C1-C8).

`service.Customizations` is what the rest of the host uses; `customizations` (the package) decides.
"""
