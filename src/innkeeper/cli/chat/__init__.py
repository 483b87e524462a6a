"""`innkeeper chat`: a conversation in a terminal, or one message from a script."""
