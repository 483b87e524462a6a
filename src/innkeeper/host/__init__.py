"""Orchestration: sessions, chats, turns, subagents, questions, clients, commands (architecture §2, §4).

What may stand here (K1): what routes every signal before state changes, what differs by agent, correctness invariants,
and the call sites of the hooks. Cross-cutting behaviour that reacts to a moment belongs into a contribution.
"""
