"""Reading a project's MCP declarations: files, dialects, variables, fingerprints (M1, M2). Nothing here runs."""
