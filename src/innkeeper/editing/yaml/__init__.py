"""YAML for the editing engine: reading, where things stand by the marks of ruamel.yaml, and the front end (M8.1)."""
