"""A session: its chats, active clients, customizations and open questions (AHP §9)."""
