"""Agents behind one contract (`providers.spi`); one package an agent, independent of each other (architecture §2)."""
