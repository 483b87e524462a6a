"""What is attached to a message, as an agent can use it: a stage of the send path (reference §4.1, AHP §9.7)."""

from innkeeper.host.attachments.stage import Attachments

__all__ = ["Attachments"]
